#pragma once

#include <string>
#include <vector>

#include "components/hooks/hook.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// The best evaluations so far: checkpoint.best.keep of them.
class BestModel final : public Stateful {
 public:
  struct Kept {
    double value = 0;
    std::int64_t step = 0;
    double epoch = 0;
  };

  explicit BestModel(BestRule rule) : rule_(std::move(rule)) {}

  // True if these measurements are among the best so far; ties stay with the earlier one.
  bool admit(const Progress& progress, const Measurements& measurements);
  // The best one first.
  const std::vector<Kept>& kept() const { return kept_; }
  const Kept* best() const { return kept_.empty() ? nullptr : &kept_.front(); }
  bool is_best(std::int64_t step) const { return best() && best()->step == step; }
  void forget(std::int64_t step);  // if the file of its weights is missing

  // Steps that have dropped out of the best since the last take_displaced().
  const std::vector<std::int64_t>& displaced() const { return displaced_; }
  std::vector<std::int64_t> take_displaced() { return std::exchange(displaced_, {}); }
  // The step admitted last: checkpoints from this step on do not refer to any displaced step.
  std::int64_t newest_step() const;

  const BestRule& rule() const { return rule_; }
  // The weights whose metric decides: "eval" for the trained weights, or the name of weights that a hook
  // keeps.
  std::string weights() const { return rule_.metric.substr(0, rule_.metric.find('/')); }

  Better mode() const { return rule_.mode == Better::max ? Better::max : Better::min; }
  std::string mode_name() const { return mode() == Better::max ? "max" : "min"; }

  State save() const override;
  void load(const State& state) override;

 private:
  BestRule rule_;
  std::vector<Kept> kept_;
  std::vector<std::int64_t> displaced_;
};

}  // namespace runner
