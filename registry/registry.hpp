#pragma once

#include <memory>
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

  // "focal@2" is its second version. "focal" is the component registered under just this name; if all its
  // versions were registered with a number, the newest.
  const Descriptor* find(std::string_view kind, std::string_view name) const;
  std::vector<const Descriptor*> of_kind(std::string_view kind) const;  // by name and version
  std::vector<const KindInfo*> kinds() const;                           // by name
  std::vector<std::string> names(std::string_view kind) const;  // "name" of each, then "name@1" of the others
  // All names that a recipe may use for it: "focal" if that refers to it, "focal@2" if it has a version.
  std::vector<std::string> spellings(const Descriptor& descriptor) const;
  std::vector<const Library*> libraries() const;  // that were loaded, by path

  // What is wrong with the registrations themselves, each with the source locations: a name taken twice, a
  // parameter that hides one common to the kind. Not the user's fault, so not a diagnostic.
  const std::vector<std::string>& conflicts() const { return conflicts_; }

 private:
  std::vector<const Descriptor*> descriptors_;  // sorted by kind, name and version
  std::vector<std::string> conflicts_;
};

// The name under which a saved recipe always finds the same component: with its version, if there may be
// others.
std::string pinned_name(const Descriptor& descriptor);

// While one exists, components that register themselves are recorded as part of this library.
class Loading {
 public:
  explicit Loading(const Library& library);
  ~Loading();
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  int registered() const;  // components so far
  int refused() const;     // registrations compiled against another version of these headers
};

}  // namespace runner
