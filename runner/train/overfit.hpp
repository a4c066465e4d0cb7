#pragma once

#include "components/datasets/dataset.hpp"

namespace runner {

// Trains on a few examples over and over, for epochs as long as before, and evaluates on the same few.
void overfit(Splits& data, std::int64_t examples);

}  // namespace runner
