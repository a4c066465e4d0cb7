#include "runner/train/rehearse_training.hpp"

#include <algorithm>
#include <stdexcept>

#include "registry/log.hpp"
#include "runner/train/feed.hpp"

namespace runner {

namespace {

bool trains_on_single_examples(const Run& run) {
  const std::int64_t size = run.recipe.loader.batch_size;
  const std::int64_t steps = run.plan.total_steps.value_or(run.plan.steps_per_epoch);
  return size == 1 ? steps > 0 : run.plan.examples_per_epoch % size == 1 && steps >= run.plan.steps_per_epoch;
}

}  // namespace

void rehearse_single_example(Run& run) {
  const std::vector<NamedTensor> buffers = run.engine.weights().held_buffers();
  const auto of_batch_norm = [](const NamedTensor& buffer) { return buffer.name.ends_with("running_mean"); };
  if (!run.engine.world().alone() || !trains_on_single_examples(run) ||
      std::ranges::none_of(buffers, of_batch_norm))
    return;
  LoaderOptions options = training_options(run.recipe, run.engine);
  options.batch_size = 1;
  options.workers = 0;
  const auto loaded = Loader(*run.data.train, options).next();
  std::vector<torch::Tensor> before;
  for (const NamedTensor& buffer : buffers) before.push_back(buffer.tensor.clone());
  try {
    run.engine.pass(loaded->batch);
  } catch (const std::exception& error) {
    if (std::string_view(error.what()).find("more than 1 value per channel") == std::string_view::npos) throw;
    throw std::runtime_error(
        log::format("{} training examples in batches of {} make a batch of a single example, which the batch "
                    "norm of this model cannot train on: choose another loader.batch_size.",
                    run.plan.examples_per_epoch, run.recipe.loader.batch_size));
  }
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < buffers.size(); ++i) torch::Tensor(buffers[i].tensor).copy_(before[i]);
}

}  // namespace runner
