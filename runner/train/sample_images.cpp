#include "runner/train/sample_images.hpp"

#include "runner/tracking/image_grid.hpp"
#include "runner/train/feed.hpp"

namespace runner {

namespace {

constexpr std::int64_t most_shown = 16;

void log_first(const Split& split, LoaderOptions options, const char* tag, Trackers& trackers) {
  const DataSpec spec = split.spec();
  const bool colours = spec.input_shape.size() == 3 && (spec.input_shape[0] == 1 || spec.input_shape[0] == 3);
  if (!spec.images || !colours) return;
  options.workers = 0;
  options.epochs = 1;
  options.pinned = false;
  Loader loader(split, options, {});
  if (const auto first = loader.next()) trackers.image(tag, image_grid(first->batch.input, most_shown), 0);
}

}  // namespace

void log_sample_images(const Run& run, Trackers& trackers) {
  if (!trackers.shows_images()) return;
  log_first(*run.data.train, training_options(run.recipe, run.engine), "samples/first_batch", trackers);
  if (run.data.eval)
    log_first(*run.data.eval, evaluation_options(run.recipe, run.engine), "samples/evaluation", trackers);
}

}  // namespace runner
