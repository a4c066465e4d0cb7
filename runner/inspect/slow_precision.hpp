#pragma once

#include <string>

#include "runner/recipe.hpp"

namespace runner {

// A sentence where the number format of the recipe is much slower than fp32 on this CPU, with the ratios as
// measured on a matrix product and a convolution; empty where it is not, or where another device computes.
// After steer_around_broken_instructions().
std::string slow_precision(const Recipe& recipe);

}  // namespace runner
