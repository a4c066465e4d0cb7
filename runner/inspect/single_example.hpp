#pragma once

#include <exception>
#include <string>

#include "runner/recipe/plan.hpp"

namespace runner {

// Batch norm cannot train on a single example unless it has several positions, like the pixels of an image.

// Whether a rank gets a single example of some batch of the plan. `batch_size`: over all ranks.
bool has_single_examples(const Plan& plan, std::int64_t batch_size, std::int64_t ranks);

// Whether a training pass failed for this reason.
bool is_about_single_example(const std::exception& error);

std::string single_example_problem(const Plan& plan, const LoaderSection& loader, std::int64_t ranks);

}  // namespace runner
