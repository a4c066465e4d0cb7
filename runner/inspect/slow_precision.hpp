#pragma once

#include <string>

#include "runner/recipe/recipe.hpp"

namespace runner {

// A sentence if the number format of the recipe is much slower than fp32 on this CPU, with ratios measured on
// a matrix product and a convolution; empty if it is not, or if the run uses another device. Call it after
// steer_around_broken_instructions().
std::string slow_precision(const Recipe& recipe);

}  // namespace runner
