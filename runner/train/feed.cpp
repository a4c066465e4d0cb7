#include "runner/train/feed.hpp"

#include <algorithm>

#include "components/contract/example_random.hpp"
#include "registry/base/machine.hpp"
#include "runner/engine/runtime/device.hpp"

namespace runner {

namespace {

using Broken = LoaderOptions::Broken;

// On a CPU, worker threads would only compete with the threads that compute. For a device several of them
// prepare batches, which are handed over in order; the ranks of a machine share its cores.
int natural_workers(const Engine& engine) {
  if (engine.device().is_cpu()) return 0;
  constexpr int most = 8;
  const int cores = static_cast<int>(usable_cores()) / engine.world().local_size();
  return std::clamp(cores - 1, 1, most);
}

LoaderOptions shared_options(const Recipe& recipe, const Engine& engine, Broken skipping) {
  const LoaderSection& loader = recipe.loader;
  LoaderOptions options;
  options.batch_size = loader.batch_size;
  options.workers = loader.workers.value_or(loader.prefetch ? 1 : natural_workers(engine));
  options.prefetch = loader.prefetch.value_or(options.prefetch);
  options.broken = loader.on_error == OnError::skip ? skipping : Broken::stop;
  options.seed = static_cast<std::uint64_t>(recipe.run.seed);
  options.format = engine.layout();
  options.pinned = copies_from_pinned(engine.device());
  return options;
}

}  // namespace

std::int64_t global_batch_size(const Recipe& recipe, const World& world) {
  const bool each = recipe.distributed.batch == BatchOf::rank;
  return recipe.loader.batch_size * (each ? world.size() : 1);
}

LoaderOptions training_options(const Recipe& recipe, const Engine& engine) {
  LoaderOptions options = shared_options(recipe, engine, Broken::replace);
  options.batch_size = global_batch_size(recipe, engine.world());
  options.share = {engine.world().rank(), engine.world().size()};
  if (recipe.distributed.reproducible) options.mixed_parts = recipe.distributed.shards;
  options.shuffle = recipe.loader.shuffle && !recipe.loader.overfit_batches;  // the same batches every time
  return options;
}

LoaderOptions evaluation_options(const Recipe& recipe, const Engine& engine) {
  LoaderOptions options = shared_options(recipe, engine, Broken::skip);
  options.batch_size = recipe.loader.eval_batch_size.value_or(recipe.loader.batch_size);
  options.epochs = 1;
  return options;
}

Feed::Feed(const Split& split, const LoaderOptions& options, std::int64_t accumulation_steps, Cursor start)
    : loader_(split, options, start), accumulation_steps_(accumulation_steps), seed_(options.seed) {}

TrainingWindow Feed::next() {
  TrainingWindow next;
  bool whole = false;
  while (!whole) {
    LoadedBatch loaded = *loader_.next();
    if (!next.window.seed) {
      next.window.seed = example_seed(seed_, static_cast<std::uint64_t>(loaded.begin.epoch),
                                      static_cast<std::uint64_t>(loaded.begin.position));
    }
    next.end = loaded.end;
    next.examples += loaded.examples;
    whole = loaded.last_of_epoch();
    next.window.sizes_of_batches.push_back(loaded.examples);
    next.window.batches.push_back(std::move(loaded.batch));
    whole = whole || static_cast<std::int64_t>(next.window.batches.size()) == accumulation_steps_;
  }
  return next;
}

}  // namespace runner
