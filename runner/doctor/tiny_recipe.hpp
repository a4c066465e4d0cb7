#pragma once

#include <string_view>

namespace runner {

// runner/doctor/tiny.toml, put into the program when it is built: an installed copy needs no other file.
extern const std::string_view tiny_recipe;

}  // namespace runner
