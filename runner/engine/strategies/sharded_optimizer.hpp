#pragma once

#include <memory>

#include "components/optimizers/optimizer.hpp"
#include "runner/engine/strategies/rank_sync.hpp"

namespace runner {

// An optimizer whose state is divided among ranks: each has the state of the parameters that it updates. Each
// rank saves a part, in whole tensors; load() gets all parts and takes what this rank needs, so the number of
// ranks may change.
class ShardedOptimizer final : public Optimizer {
 public:
  ShardedOptimizer(std::unique_ptr<Optimizer> own, const RankSync& ranks)
      : own_(std::move(own)), ranks_(ranks) {}

  double peak_lr() const override { return own_->peak_lr(); }
  void step(double lr_factor) override { own_->step(lr_factor); }

  State save() const override;  // with zero3 every rank takes part
  void load(const State& state) override;

 private:
  std::unique_ptr<Optimizer> own_;
  const RankSync& ranks_;
};

}  // namespace runner
