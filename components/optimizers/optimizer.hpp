#pragma once

#include <optional>
#include <string>
#include <vector>

#include "components/contract/state.hpp"
#include "registry/component.hpp"

namespace runner {

struct ParameterGroup {
  std::vector<std::string> names = {};
  std::vector<torch::Tensor> parameters = {};
  double lr_multiplier = 1.0;
  std::optional<double> weight_decay = std::nullopt;  // overrides that of the optimizer
};

// Updates the weights. Its state is saved per parameter, as "<parameter>.<slot>", so that parameters can be
// regrouped.
//   struct MySgd { double lr = 0.1; };
//   constexpr auto describe(std::type_identity<MySgd>) {
//     return fields(field("lr", &MySgd::lr, "Peak learning rate, before the schedule.", above(0)));
//   }
//   class Sgd final : public Optimizer { .. };  // peak_lr(), step(), and save() and load() if it keeps state
//   std::unique_ptr<Optimizer> build(const MySgd& settings, const OptimizerInputs& inputs) {
//     return std::make_unique<Sgd>(settings, inputs.groups);
//   }
//   const Registration<OptimizerKind> registration{"my_sgd", "Plain gradient descent.", &build};
class Optimizer : public Stateful {
 public:
  virtual double peak_lr() const = 0;  // what the schedule multiplies
  // One update from the gradients, at peak_lr() times the factor.
  virtual void step(double lr_factor) = 0;
};

struct OptimizerInputs {
  std::vector<ParameterGroup> groups;
  // The names of all parameters that are trained, if the groups hold only those that this rank updates;
  // empty: the groups hold all of them.
  std::vector<std::string> all_names = {};
};

struct GroupRule {
  std::string match;
  double lr_multiplier = 1.0;
  std::optional<double> weight_decay;
};
constexpr auto describe(std::type_identity<GroupRule>) {
  return fields(
      field("match", &GroupRule::match, "Parameters this is for, by pattern: \"fc.*\".", required(),
            non_empty()),
      field("lr_multiplier", &GroupRule::lr_multiplier, "Multiplier of their learning rate.", at_least(0)),
      field("weight_decay", &GroupRule::weight_decay,
            "Their own weight decay, also for their biases and norms.", at_least(0)));
}

struct OptimizerCommon {
  std::vector<GroupRule> group = {};
  bool decay_biases_and_norms = true;
};
constexpr auto describe(std::type_identity<OptimizerCommon>) {
  return fields(
      field("group", &OptimizerCommon::group,
            "Settings for some of the parameters; the first group that matches a parameter applies."),
      field("decay_biases_and_norms", &OptimizerCommon::decay_biases_and_norms,
            "Weight decay on biases and normalisation layers too (parameters of one dimension)."));
}

// An optimizer that computes every element only from the gradient and state of that element may get slices of
// parameters, as columns; other optimizers get whole parameters.
enum class UpdatesBy { parameter, element };

struct OptimizerFacts {
  UpdatesBy updates_by = UpdatesBy::parameter;
};

struct OptimizerKind {
  static constexpr std::string_view name = "optimizer";
  static constexpr std::string_view summary = "Updates the weights from the gradients.";
  static constexpr KindOnResume on_resume{.part = OnResume::fixed, .parameters = OnResume::course};
  using Product = Optimizer;
  using Inputs = OptimizerInputs;
  using Common = OptimizerCommon;
  using Facts = OptimizerFacts;
};

}  // namespace runner
