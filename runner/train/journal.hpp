#pragma once

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

#include "components/hooks/hook.hpp"
#include "components/optimizers/optimizer.hpp"
#include "runner/recipe/plan.hpp"
#include "runner/runs/tracking/trackers.hpp"
#include "runner/terminal/console.hpp"
#include "runner/train/evaluate.hpp"
#include "runner/train/training_loss.hpp"

namespace runner {

// The result of one update. Tensors are still on the device.
struct StepReport {
  WindowLoss loss;
  double lr = 0;
  std::int64_t examples = 0;
  torch::Tensor gradient_norm = {};  // undefined: not measured
  bool updated = true;               // false: the update was skipped
};

// Reports the progress of a run to trackers and console. Reads from the device only what is logged or shown.
class Journal final : public Stateful {
 public:
  Journal(Trackers& trackers, Console& console, const Plan& plan, std::optional<double> epochs,
          std::vector<GroupRule> groups = {})
      : trackers_(trackers), console_(console), plan_(plan), epochs_(epochs), groups_(std::move(groups)) {}

  void step(const Progress& progress, const StepReport& report);
  // A record of the updates since the last one: their mean loss, the learning rate, and further values.
  void training(const Progress& progress, const Measurements& precision, const Measurements& hooks);
  bool has_unlogged_steps() const { return examples_ > 0; }
  void evaluating(double share) { console_.evaluating(share); }
  void evaluation(const Progress& progress, const Evaluation& evaluation, double seconds, bool best);
  void measurements(const Progress& progress, Measurements values);
  void note(const Progress& progress, const Note& note);
  void histogram(const Progress& progress, std::string tag, Histogram histogram);

  const std::vector<std::pair<double, double>>& loss_curve() const { return loss_curve_; }  // step and loss
  bool evaluated(const Progress& progress) const { return evaluated_at_ == progress.examples; }
  const Measurements& last_evaluation() const { return last_evaluation_; }

  State save() const override;  // the current log interval, the loss curve, the last evaluation
  void load(const State& state) override;

 private:
  void record(const Progress& progress, Measurements values);
  void text(const Progress& progress, const std::string& tag, const std::string& text);

  Trackers& trackers_;
  Console& console_;
  const Plan& plan_;
  std::optional<double> epochs_;
  std::vector<GroupRule> groups_;  // parameter groups, some with a learning rate of their own
  StepReport last_;
  TrainingLoss training_loss_;  // since the last record
  std::int64_t examples_ = 0;   // since the last record
  double training_seconds_ = 0, evaluation_seconds_ = 0;
  double examples_per_second_ = 0;
  std::vector<std::pair<double, double>> loss_curve_;
  Measurements last_evaluation_;
  std::optional<std::int64_t> evaluated_at_;  // number of examples seen by then
};

}  // namespace runner
