#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "registry/value.hpp"

namespace runner {

// A key from the top of the recipe: `optimizer.lr`, `tracker.0.dir`, `dataset."odd key"`.
struct KeyPath {
  struct Part {
    std::string text;
    std::size_t offset = 0, length = 0;  // its position in the parsed text
  };
  std::vector<Part> parts;

  std::string text(std::size_t count) const;  // the first `count` parts
  std::string text() const { return text(parts.size()); }
};

struct KeyProblem {
  std::string message;
  std::size_t offset = 0, length = 0;
};

std::variant<KeyPath, KeyProblem> parse_key_path(std::string_view text);

// The index that a part such as "2" stands for; none if the list has no such item.
std::optional<std::size_t> list_index(std::string_view part, const Array& list);

}  // namespace runner
