// A loss of your own: cross-entropy of logits divided by a temperature.
#include "components/losses/loss.hpp"

namespace {  // everything: two plugins may use the same names

using namespace runner;

struct MyLoss {  // the parameters, with their defaults
  double temperature = 1.0;
};

constexpr auto describe(std::type_identity<MyLoss>) {  // every one of them; forgetting one does not compile
  return fields(field("temperature", &MyLoss::temperature, "What the logits are divided by.", above(0)));
}

class MyLossTempered final : public Loss {  // the contract
 public:
  explicit MyLossTempered(const MyLoss& settings) : settings_(settings) {}

  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    const torch::Tensor log_probabilities = (output / settings_.temperature).log_softmax(1);
    return -log_probabilities.gather(1, batch.target.unsqueeze(1)).sum();
  }

 private:
  MyLoss settings_;
};

std::unique_ptr<Loss> build(const MyLoss& settings, const LossInputs&) {
  return std::make_unique<MyLossTempered>(settings);
}

const Registration<LossKind> registration{"my_loss", "Cross-entropy with a temperature.", &build};

}  // namespace
