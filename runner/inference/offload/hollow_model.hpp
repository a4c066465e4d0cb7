#pragma once

#include <memory>

#include "runner/recipe.hpp"

namespace runner {

// The recipe's model without memory for its parameters: they are on LibTorch's meta device. Whatever else its
// constructor makes, such as buffers and tables, is there. Models that read their parameters themselves, and
// those of plugins, come whole.
std::shared_ptr<Model> build_hollow_model(const Recipe& recipe, const DataSpec& data);

}  // namespace runner
