#include "runner/inspect/single_example.hpp"

#include <string_view>

#include "registry/base/log.hpp"

namespace runner {

bool has_single_examples(const Plan& plan, std::int64_t batch_size, std::int64_t ranks) {
  const std::int64_t steps = plan.total_steps.value_or(plan.steps_per_epoch);
  const std::int64_t last = plan.examples_per_epoch % batch_size;
  // The shares of a batch differ by one example at most.
  const auto leaves_one = [&](std::int64_t examples) { return examples > 0 && examples < 2 * ranks; };
  return (steps > 0 && plan.examples_per_epoch >= batch_size && leaves_one(batch_size)) ||
         (steps >= plan.steps_per_epoch && leaves_one(last));
}

bool is_about_single_example(const std::exception& error) {
  return std::string_view(error.what()).find("more than 1 value per channel") != std::string_view::npos;
}

std::string single_example_problem(const Plan& plan, const LoaderSection& loader, std::int64_t ranks) {
  return log::format(
      "{} training examples in batches of {}{} make a batch of a single example, which the batch norm of "
      "this model cannot train on: choose another loader.batch_size.",
      plan.examples_per_epoch, loader.batch_size, ranks > 1 ? log::format(" on {} ranks", ranks) : "");
}

}  // namespace runner
