// An optimizer of your own: each weight moves by the learning rate, in the direction of the sign of its
// averaged gradient.
#include <torch/utils.h>

#include "components/optimizers/optimizer.hpp"

namespace {

using namespace runner;

struct MyOptimizer {
  double lr = 0.001;
  double momentum = 0.9;
};

constexpr auto describe(std::type_identity<MyOptimizer>) {
  return fields(field("lr", &MyOptimizer::lr, "Peak learning rate, before the schedule.", above(0)),
                field("momentum", &MyOptimizer::momentum, "Decay of the averaged gradient.", within(0, 1)));
}

// Each element of a weight is updated on its own, so that ranks may share out parts of a weight.
OptimizerFacts facts(const MyOptimizer&) { return {UpdatesBy::element}; }

class MyOptimizerSign final : public Optimizer {
 public:
  MyOptimizerSign(const MyOptimizer& settings, const OptimizerInputs& inputs)
      : settings_(settings), groups_(inputs.groups) {}

  double peak_lr() const override { return settings_.lr; }

  void step(double lr_factor) override {
    const torch::NoGradGuard no_grad;
    for (ParameterGroup& group : groups_) {
      for (std::size_t i = 0; i < group.parameters.size(); ++i) {
        torch::Tensor& weight = group.parameters[i];
        if (!weight.grad().defined()) continue;
        torch::Tensor& average = averages_[group.names[i]];
        if (!average.defined()) average = torch::zeros_like(weight);
        average.lerp_(weight.grad(), 1 - settings_.momentum);
        weight.sub_(average.sign(), settings_.lr * lr_factor * group.lr_multiplier);
        if (group.weight_decay) weight.mul_(1 - settings_.lr * lr_factor * *group.weight_decay);
      }
    }
  }

  // What a checkpoint keeps: "<parameter>.<slot>".
  State save() const override {
    State state;
    for (const auto& [name, average] : averages_) state.tensors[name + ".average"] = average;
    return state;
  }
  void load(const State& state) override {
    StateReader saved(state);
    for (const ParameterGroup& group : groups_) {
      for (std::size_t i = 0; i < group.parameters.size(); ++i) {
        const torch::Tensor* average = saved.find_tensor(group.names[i] + ".average");
        if (average) averages_[group.names[i]] = average->clone().to(group.parameters[i].device());
      }
    }
    saved.finish();  // an entry that was not read is an error
  }

 private:
  MyOptimizer settings_;
  std::vector<ParameterGroup> groups_;
  std::map<std::string, torch::Tensor> averages_;  // by parameter, from its first update on
};

std::unique_ptr<Optimizer> build(const MyOptimizer& settings, const OptimizerInputs& inputs) {
  return std::make_unique<MyOptimizerSign>(settings, inputs);
}

const Registration<OptimizerKind> registration{
    "my_optimizer", "Steps of equal size, by the sign of the averaged gradient.", &build};

}  // namespace
