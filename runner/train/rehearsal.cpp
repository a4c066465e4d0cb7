#include "runner/train/rehearsal.hpp"

#include "runner/inspect/trial_evaluation.hpp"
#include "runner/train/feed.hpp"

namespace runner {

void rehearse(Run& run) {
  if (!run.data.eval || run.metrics.empty()) return;
  LoaderOptions options = evaluation_options(run.recipe, run.engine);
  options.batch_size = 2;
  options.workers = 0;
  auto loaded = Loader(*run.data.eval, options).next();
  if (!loaded || loaded->batch.size() == 0) return;  // unreadable examples, which the recipe leaves out
  const torch::Tensor output = run.engine.predict(loaded->batch);
  run.engine.finish_passes();
  try_evaluation(run.recipe, run.metrics, run.hooks, loaded->batch, output);
}

}  // namespace runner
