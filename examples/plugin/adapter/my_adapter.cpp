// An adapter of your own: each output of a layer is multiplied by a number that is trained, as in (IA)^3.
#include <torch/utils.h>

#include <nlohmann/json.hpp>

#include "components/adapters/adapter.hpp"

namespace {  // everything: two plugins may use the same names

using namespace runner;

struct MyAdapter {  // the parameters, with their defaults
  double start = 1.0;
};

constexpr auto describe(
    std::type_identity<MyAdapter>) {  // every one of them; forgetting one does not compile
  return fields(field("start", &MyAdapter::start, "What the outputs are multiplied by at first.", above(0)));
}

class Scale final : public LayerAdapter {  // what sits in a layer
 public:
  Scale(LinearImpl& layer, double start)
      : scale_(layer.register_parameter("my_scale", torch::full({layer.out_features()}, start))) {}

  torch::Tensor forward(const torch::Tensor& x, const LinearImpl& layer) const override {
    const torch::Tensor weight = layer.in_out() ? layer.weight * scale_ : layer.weight * scale_.unsqueeze(1);
    return layer.with_weight(x, weight);
  }

  torch::Tensor merged(const LinearImpl& layer) const override {
    const torch::NoGradGuard no_grad;
    return layer.out_in().to(torch::kFloat) * scale_.unsqueeze(1);
  }

 private:
  torch::Tensor scale_;
};

class MyAdapterScale final : public Adapter {  // the contract
 public:
  explicit MyAdapterScale(const MyAdapter& settings) : settings_(settings) {}

  std::shared_ptr<LayerAdapter> sit_in(LinearImpl& layer, const std::string& /*name*/) const override {
    return std::make_shared<Scale>(layer, settings_.start);
  }

  nlohmann::json peft_config() const override {
    return {{"peft_type", "MY_ADAPTER"}, {"start", settings_.start}};
  }

 private:
  MyAdapter settings_;
};

std::unique_ptr<Adapter> build(const MyAdapter& settings, const AdapterInputs&) {
  return std::make_unique<MyAdapterScale>(settings);
}

const Registration<AdapterKind> registration{"my_adapter", "Multiplies the outputs of layers.", &build};

}  // namespace
