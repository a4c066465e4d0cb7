#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/component.hpp"

namespace runner {

// The components a program can build: an ordinary value, made in main and passed by reference.
class Registry {
 public:
  explicit Registry(std::vector<const Descriptor*> descriptors);
  static Registry of_linked();  // everything linked into this program so far, plugins included

  const Descriptor* find(std::string_view kind, std::string_view name) const;
  std::vector<const Descriptor*> of_kind(std::string_view kind) const;  // by name
  std::vector<const KindInfo*> kinds() const;                           // by name
  std::vector<std::string> names(std::string_view kind) const;

  // What is wrong with the registrations themselves, each with the source locations: a name taken twice, a
  // parameter that hides one common to the kind. Not the user's fault, so not a diagnostic.
  const std::vector<std::string>& conflicts() const { return conflicts_; }

 private:
  std::vector<const Descriptor*> descriptors_;  // sorted by kind, then name
  std::vector<std::string> conflicts_;
};

}  // namespace runner
