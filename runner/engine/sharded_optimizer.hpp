#pragma once

#include <memory>

#include "components/optimizers/optimizer.hpp"
#include "runner/engine/rank_sync.hpp"

namespace runner {

// An optimizer of which every rank has a part: the state of the parameters that it updates. Saved, it is one
// state again, on rank 0, whatever the number of ranks; loading takes from it what this rank needs.
class ShardedOptimizer final : public Optimizer {
 public:
  ShardedOptimizer(std::unique_ptr<Optimizer> own, World& world, const RankSync& ranks)
      : own_(std::move(own)), world_(world), ranks_(ranks) {}

  double peak_lr() const override { return own_->peak_lr(); }
  void step(double lr_factor) override { own_->step(lr_factor); }

  State save() const override;  // every rank takes part
  void load(const State& state) override;

 private:
  std::unique_ptr<Optimizer> own_;
  World& world_;
  const RankSync& ranks_;
};

}  // namespace runner
