#pragma once

#include <optional>
#include <string>

#include "components/hooks/hook.hpp"
#include "runner/recipe.hpp"

namespace runner {

// Remembers the best evaluation so far, by the rule of checkpoint.best.
class BestModel final : public Stateful {
 public:
  explicit BestModel(BestRule rule) : rule_(std::move(rule)) {}

  // True if these measurements are the best so far; ties stay with the earlier one.
  bool improved(const Progress& progress, const Measurements& measurements);

  const BestRule& rule() const { return rule_; }
  // Whose measurement decides: "eval" is the trained weights, anything else what a hook keeps.
  std::string weights() const { return rule_.metric.substr(0, rule_.metric.find('/')); }
  const std::optional<double>& value() const { return value_; }
  const Progress& when() const { return when_; }

  State save() const override;
  void load(const State& state) override;

 private:
  BestRule rule_;
  std::optional<double> value_;
  Progress when_;
};

}  // namespace runner
