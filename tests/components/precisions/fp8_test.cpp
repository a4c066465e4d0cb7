#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/modules/embedding.h>
#include <torch/optim/sgd.h>
#include <torch/script.h>

#include <catch2/catch_all.hpp>

#include "tests/components/precisions/training.hpp"
#include "tests/support/parts.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

double relative_error(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found.to(torch::kFloat64) - expected.to(torch::kFloat64)).norm() /
          expected.to(torch::kFloat64).norm())
      .item<double>();
}

// The tidy waves of the other tests would nearly cancel in a matrix product, and leave nothing but rounding
// errors.
torch::Tensor noise(at::IntArrayRef shape, std::uint64_t seed) {
  return torch::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed));
}

struct Pass {
  torch::Tensor output, input_gradient;
  std::vector<torch::Tensor> parameter_gradients;
};

Pass pass(Model& model, Precision& precision, const torch::Tensor& input) {
  model.zero_grad();
  const torch::Tensor leaf = input.clone().requires_grad_();
  torch::Tensor output;
  {
    const auto scope = precision.forward();
    output = model.forward({leaf, {}});
  }
  (output.to(torch::kFloat32) * noise(output.sizes(), 2)).sum().backward();
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : model.parameters()) gradients.push_back(parameter.grad().clone());
  return {output.detach(), leaf.grad(), gradients};
}

class OneLinear final : public Model {
 public:
  explicit OneLinear(bool bias)
      : fc(register_module("fc", torch::nn::Linear(torch::nn::LinearOptions(32, 48).bias(bias)))) {
    const torch::NoGradGuard no_grad;
    fc->weight.copy_(noise({48, 32}, 3));
    if (bias) fc->bias.copy_(noise({48}, 4));
  }
  torch::Tensor forward(const Batch& batch) override { return fc(batch.input); }
  torch::nn::Linear fc;
};

// e4m3 has 3 bits of mantissa (errors to 1/16 of a value, less in a sum), e5m2 two.
constexpr double forward_tolerance = 0.05, backward_tolerance = 0.1;
constexpr double bf16_error = 0.004;

void require_eight_bits(const Pass& narrow, const Pass& exact) {
  const double output = relative_error(narrow.output, exact.output);
  const double input_gradient = relative_error(narrow.input_gradient, exact.input_gradient);
  const double weight_gradient = relative_error(narrow.parameter_gradients[0], exact.parameter_gradients[0]);
  REQUIRE(output < forward_tolerance);
  REQUIRE(output > bf16_error);
  REQUIRE(input_gradient < backward_tolerance);
  REQUIRE(input_gradient > bf16_error);
  REQUIRE(weight_gradient < backward_tolerance);
  REQUIRE(weight_gradient > bf16_error);
}

TEST_CASE("a linear layer in fp8 is close to fp32, forward and backward, and not bf16 in disguise",
          "[precisions]") {
  const bool bias = GENERATE(true, false);
  const std::vector<std::int64_t> shape =
      GENERATE(std::vector<std::int64_t>{64, 32}, std::vector<std::int64_t>{5, 32},
               std::vector<std::int64_t>{3, 7, 32});
  OneLinear net(bias);
  const torch::Tensor input = noise(shape, 5);
  const auto fp32 = part<PrecisionKind>("fp32").build({});
  const auto fp8 = part<PrecisionKind>("fp8").build({});
  fp8->prepare(net);
  const Pass exact = pass(net, *fp32, input);
  const Pass narrow = pass(net, *fp8, input);
  REQUIRE(narrow.output.sizes() == exact.output.sizes());
  REQUIRE(narrow.output.scalar_type() == torch::kBFloat16);
  require_eight_bits(narrow, exact);
  REQUIRE(narrow.parameter_gradients[0].scalar_type() == torch::kFloat32);
  if (bias) REQUIRE(relative_error(narrow.parameter_gradients[1], exact.parameter_gradients[1]) < 0.01);
}

// Its weight lies the other way round, as GPT-2's do.
class TurnedLinear final : public Model {
 public:
  explicit TurnedLinear(bool with_bias)
      : weight(register_parameter("weight", noise({32, 48}, 3))),
        bias(with_bias ? register_parameter("bias", noise({48}, 4)) : torch::Tensor()) {}
  torch::Tensor forward(const Batch& batch) override {
    return bias.defined() ? torch::addmm(bias, batch.input, weight) : torch::matmul(batch.input, weight);
  }
  torch::Tensor weight, bias;
};

class TwoMatrices final : public Model {
 public:
  TwoMatrices() {
    register_parameter("weight_ih", noise({32, 32}, 3));
    register_parameter("weight_hh", noise({32, 32}, 4));
  }
  torch::Tensor forward(const Batch& batch) override {
    const auto all = named_parameters(/*recurse=*/false);
    return torch::linear(torch::linear(batch.input, all["weight_ih"]), all["weight_hh"]);
  }
};
class Holder final : public Model {
 public:
  Holder() : lstm(register_module("lstm", std::make_shared<TwoMatrices>())) {}
  torch::Tensor forward(const Batch& batch) override { return lstm->forward(batch); }
  std::shared_ptr<TwoMatrices> lstm;
};

TEST_CASE("two matrices of one module have scales of their own in fp8", "[precisions]") {
  Holder net;
  const auto fp8 = part<PrecisionKind>("fp8").build({});
  fp8->prepare(net);
  REQUIRE_THAT(fp8->summary(), ContainsSubstring("lstm.weight_ih") && ContainsSubstring("lstm.weight_hh"));
  pass(net, *fp8, noise({20, 32}, 5));
  const State state = fp8->save();
  REQUIRE(state.tensors.size() == 6);  // of inputs, weights and gradients
  REQUIRE_FALSE(torch::equal(state.tensors.at("lstm.weight_ih.weight_amax"),
                             state.tensors.at("lstm.weight_hh.weight_amax")));
}

TEST_CASE("a weight kept as [in, out] runs in fp8 too", "[precisions]") {
  TurnedLinear net(GENERATE(true, false));
  const auto fp32 = part<PrecisionKind>("fp32").build({});
  const auto fp8 = part<PrecisionKind>("fp8").build({});
  fp8->prepare(net);
  const torch::Tensor input = noise({20, 32}, 5);
  const Pass exact = pass(net, *fp32, input);
  const Pass narrow = pass(net, *fp8, input);
  REQUIRE(narrow.output.sizes() == exact.output.sizes());
  require_eight_bits(narrow, exact);
}

class ScriptedNet final : public Model {
 public:
  ScriptedNet() : script("net") {
    script.register_parameter("weight", register_parameter("weight", noise({48, 32}, 3)), false);
    script.define("def forward(self, x):\n  return torch.linear(x, self.weight)\n");
  }
  torch::Tensor forward(const Batch& batch) override { return script.forward({batch.input}).toTensor(); }
  torch::jit::Module script;
};

TEST_CASE("layers called from TorchScript run in fp8 too", "[precisions]") {
  ScriptedNet net;
  const auto fp32 = part<PrecisionKind>("fp32").build({});
  const auto fp8 = part<PrecisionKind>("fp8").build({});
  fp8->prepare(net);
  const torch::Tensor input = noise({64, 32}, 5);
  const Pass exact = pass(net, *fp32, input);
  // After two passes TorchScript has seen enough to rewrite the code it runs.
  for (int i = 0; i < 4; ++i) require_eight_bits(pass(net, *fp8, input), exact);
  REQUIRE(relative_error(pass(net, *fp32, input).output, exact.output) == 0);
}

class MixedNet final : public Model {
 public:
  torch::Tensor forward(const Batch& batch) override { return head(fc(embedding(batch.input).flatten(1))); }
  torch::nn::Embedding embedding{register_module("embedding", torch::nn::Embedding(32, 16))};
  torch::nn::Linear fc{register_module("fc", torch::nn::Linear(64, 32))};
  torch::nn::Linear head{register_module("head", torch::nn::Linear(32, 10))};
};

TEST_CASE("layers that do not fit stay in bf16, and the summary names them", "[precisions]") {
  MixedNet net;
  const auto fp8 = part<PrecisionKind>("fp8").build({});
  fp8->prepare(net);
  REQUIRE(fp8->summary() ==
          "fp8 in fc; bf16 elsewhere; too small or not in multiples of 16, so left in bf16: head");
  const auto scope = fp8->forward();
  const torch::Tensor output = net.forward({torch::arange(32).reshape({8, 4}), {}});
  REQUIRE(output.scalar_type() == torch::kBFloat16);
  output.to(torch::kFloat32).sum().backward();
  for (const auto& entry : net.named_parameters()) {
    INFO(entry.key());
    REQUIRE(entry.value().grad().defined());
    REQUIRE(entry.value().grad().isfinite().all().item<bool>());
  }
}

class Stack final : public Model {
 public:
  Stack(int layers, std::int64_t size) {
    for (int i = 0; i < layers; ++i) register_module("fc" + std::to_string(i), torch::nn::Linear(size, size));
  }
  torch::Tensor forward(const Batch& batch) override { return batch.input; }
};

TEST_CASE("the summary of fp8 stays one line for people", "[precisions]") {
  const auto summary = [](Stack net) {
    const auto fp8 = part<PrecisionKind>("fp8").build({});
    fp8->prepare(net);
    return fp8->summary();
  };
  REQUIRE(summary(Stack(0, 16)) == "bf16: the model has no linear layer for fp8");
  REQUIRE(summary(Stack(2, 16)) == "fp8 in fc0, fc1; bf16 elsewhere");
  REQUIRE(summary(Stack(24, 16)) == "fp8 in 24 linear layers; bf16 elsewhere");
  REQUIRE(summary(Stack(1, 24)) ==
          "bf16: no linear layer fits fp8; too small or not in multiples of 16, so left in bf16: fc0");
}

TEST_CASE("training in fp8 follows training in fp32, and carries on from saved state exactly",
          "[precisions]") {
  SmallNet exact_net, net, resumed_net;
  const auto fp32 = part<PrecisionKind>("fp32").build({});
  const auto fp8 = part<PrecisionKind>("fp8", {{"amax_history", 4}}).build({});
  fp8->prepare(net);
  const Training exact = train(exact_net, *fp32);
  const Training narrow = train(net, *fp8);
  for (std::size_t i = 0; i < exact.losses.size(); ++i) {
    REQUIRE_THAT(narrow.losses[i], Catch::Matchers::WithinAbs(exact.losses[i], 0.1));
  }

  const auto first = part<PrecisionKind>("fp8", {{"amax_history", 4}}).build({});
  const auto second = part<PrecisionKind>("fp8", {{"amax_history", 4}}).build({});
  first->prepare(resumed_net);
  train(resumed_net, *first, 0, 7);
  second->prepare(resumed_net);
  second->load(first->save());
  train(resumed_net, *second, 7, training_steps);
  REQUIRE(torch::equal(all_weights(net), all_weights(resumed_net)));
  const auto other = part<PrecisionKind>("fp8", {{"amax_history", 8}}).build({});
  other->prepare(net);
  REQUIRE_THROWS_WITH(other->load(first->save()), ContainsSubstring("input_amax"));
  const Registry registry = Registry::of_linked();  // so a resumed run is refused before anything is loaded
  REQUIRE(registry.find("precision", "fp8")->schema().find("amax_history")->rules.on_resume ==
          OnResume::fixed);
}

TEST_CASE("a small network learns in fp8", "[precisions]") {
  SmallNet net;
  const auto fp8 = part<PrecisionKind>("fp8").build({});
  fp8->prepare(net);
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.5).momentum(0.9));
  const Batch batch{wave({rows, inputs}, 3.0) + 0.5 * torch::eye(rows, inputs),
                    torch::arange(rows).remainder(outputs)};
  double first = 0, last = 0;
  for (int step = 0; step < 150; ++step) {
    optimizer.zero_grad();
    torch::Tensor loss;
    {
      const auto scope = fp8->forward();
      loss = torch::nn::functional::cross_entropy(net.forward(batch), batch.target);
    }
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  INFO("from " << first << " to " << last);
  REQUIRE(last < 0.3 * first);
}

TEST_CASE("evaluation in fp8 leaves no trace in the scales of training", "[precisions]") {
  SmallNet net;
  const auto fp8 = part<PrecisionKind>("fp8").build({});
  fp8->prepare(net);
  train(net, *fp8, 0, 2);
  const State before = fp8->save();
  {
    const torch::NoGradGuard no_grad;
    const auto scope = fp8->forward();
    net.forward({100 * wave({rows, inputs}, 0.5), {}});
  }
  const State after = fp8->save();
  for (const auto& [name, tensor] : before.tensors) REQUIRE(torch::equal(tensor, after.tensors.at(name)));
  REQUIRE(before.integers == after.integers);
}

TEST_CASE("infinities are not lost in fp8", "[precisions]") {
  OneLinear net(true);
  const auto fp8 = part<PrecisionKind>("fp8").build({});
  fp8->prepare(net);
  torch::Tensor input = wave({16, 32}, 1.1);
  input[3][4] = GENERATE(INFINITY, NAN);
  {
    const auto scope = fp8->forward();
    REQUIRE_FALSE(net.forward({input, {}}).isfinite().all().item<bool>());
  }
  REQUIRE(pass(net, *fp8, wave({16, 32}, 1.1)).output.isfinite().all().item<bool>());  // and it recovers
}

}  // namespace
}  // namespace runner::testing
