#pragma once

#include "components/contract/progress.hpp"
#include "runner/data/loader.hpp"
#include "runner/engine/engine.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// Number of examples of one micro-batch, over all ranks.
std::int64_t global_batch_size(const Recipe& recipe, const World& world);

LoaderOptions training_options(const Recipe& recipe, const Engine& engine);
LoaderOptions evaluation_options(const Recipe& recipe, const Engine& engine);

// The data of one update, and the position in the data after it.
struct TrainingWindow {
  Window window;
  std::int64_t examples = 0;  // over all ranks
  Cursor end;
};

// The training data as windows of micro-batches, starting at a cursor. A window never crosses the end of an
// epoch, so the last one may be short. Its seed depends only on its position in the data, so that dropout is
// the same in a resumed run.
class Feed {
 public:
  Feed(const Split& split, const LoaderOptions& options, std::int64_t accumulation_steps, Cursor start = {});

  TrainingWindow next();
  std::int64_t unreadable_examples() const { return loader_.unreadable_examples(); }

 private:
  Loader loader_;
  std::int64_t accumulation_steps_;
  std::uint64_t seed_;
};

}  // namespace runner
