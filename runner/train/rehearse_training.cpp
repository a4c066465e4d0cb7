#include "runner/train/rehearse_training.hpp"

#include <algorithm>
#include <stdexcept>

#include "runner/inspect/single_example.hpp"
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

}  // namespace runner
