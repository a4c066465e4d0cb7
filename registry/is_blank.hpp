#pragma once

#include "registry/conform.hpp"
#include "registry/value.hpp"

namespace runner {

// Whether the value is still to be filled in. A blank is a string, whatever the type of its field.
inline bool is_blank(const Value& value) {
  const auto* text = value.as<std::string>();
  return text && *text == blank;
}

}  // namespace runner
