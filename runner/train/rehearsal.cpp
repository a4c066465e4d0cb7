#include "runner/train/rehearsal.hpp"

#include <algorithm>
#include <stdexcept>

#include "runner/inspect/single_example.hpp"
#include "runner/inspect/trial_evaluation.hpp"
#include "runner/train/feed.hpp"

namespace runner {

void rehearse_single_example(Run& run) {
  const std::int64_t ranks = run.engine.world().size();
  const std::vector<NamedTensor> buffers = run.engine.weights().held_buffers();
  const auto of_batch_norm = [](const NamedTensor& buffer) { return buffer.name.ends_with("running_mean"); };
  if (!has_single_examples(run.plan, global_batch_size(run.recipe, run.engine.world()), ranks) ||
      run.plan.examples_per_epoch < ranks || std::ranges::none_of(buffers, of_batch_norm))
    return;
  LoaderOptions options = training_options(run.recipe, run.engine);
  options.batch_size = ranks;  // one example each; synchronised batch norm combines them as in training
  options.workers = 0;
  const auto loaded = Loader(*run.data.train, options).next();
  const SwappedWeights unchanged = run.engine.swap_weights();  // the pass changes buffers
  try {
    run.engine.pass(loaded->batch);
    run.engine.finish_passes();
  } catch (const std::exception& error) {
    if (!is_about_single_example(error)) throw;
    throw std::runtime_error(single_example_problem(run.plan, run.recipe.loader, ranks));
  }
}

void rehearse_evaluation(Run& run) {
  if (!run.data.eval || run.metrics.empty()) return;
  LoaderOptions options = evaluation_options(run.recipe, run.engine);
  options.batch_size = 2;
  options.workers = 0;
  auto loaded = Loader(*run.data.eval, options).next();
  if (!loaded || loaded->batch.size() == 0) return;  // unreadable examples, which the recipe skips
  const torch::Tensor output = run.engine.predict(loaded->batch);
  run.engine.finish_passes();
  try_evaluation(run.recipe, run.metrics, run.hooks, loaded->batch, output);
}

}  // namespace runner
