#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runner/data/loader.hpp"
#include "runner/engine/engine.hpp"
#include "runner/recipe.hpp"

namespace runner {

LoaderOptions training_options(const Recipe& recipe, const Engine& engine);
LoaderOptions evaluation_options(const Recipe& recipe, const Engine& engine);

// The micro-batches of one update, and the place in the data behind them.
struct Feeding {
  Window window;
  std::int64_t samples = 0;
  Cursor begin, end;
};

// The training data as windows of micro-batches. A window never reaches into the next epoch: the last one of
// an epoch is short where the numbers do not divide.
class Feed {
 public:
  Feed(const Split& split, const LoaderOptions& options, std::int64_t accumulation_steps, Cursor start = {});

  Feeding next();
  std::int64_t unreadable_samples() const { return loader_.unreadable_samples(); }

 private:
  Loader loader_;
  std::int64_t accumulation_steps_;
};

}  // namespace runner
