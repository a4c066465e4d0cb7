#include "components/layers/activation_checkpoint.hpp"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/models/model.hpp"
#include "components/precisions/precision.hpp"
#include "tests/support/parts.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

struct Pass {
  torch::Tensor output;
  std::vector<std::pair<std::string, torch::Tensor>> gradients;
  torch::Tensor drawn_after;  // the generator goes on where it would have
};

// Deep enough that what one block holds is little of the whole.
std::unique_ptr<Model> transformer(const std::string& name, bool checkpoint, double dropout) {
  torch::manual_seed(1);
  Settings settings{{"layers", 6}, {"heads", 2}, {"width", 32}, {"checkpoint_activations", checkpoint}};
  if (name != "llama") settings.emplace_back("dropout", dropout);
  if (name == "vit") {
    settings.emplace_back("patch", 2);
    return part<ModelKind>(name, settings).build({.data = {.input_shape = {3, 8, 8}, .classes = 5}});
  }
  DataSpec tokens{.input_shape = {16}, .input_type = torch::kInt64, .classes = 20, .vocabulary = 20};
  if (name == "transformer") tokens.target_shape = {16};
  return part<ModelKind>(name, settings).build({tokens});
}

Pass pass(Model& model, const std::string& name, const std::string& precision) {
  const auto numbers = part<PrecisionKind>(precision).build({});
  numbers->prepare(model);
  torch::manual_seed(2);
  const auto tokens = torch::randint(0, 20, {4, 16}, torch::kInt64);
  const Batch batch{.input = name == "vit" ? torch::rand({4, 3, 8, 8}) : tokens, .target = tokens};
  Pass result;
  {
    const auto scope = numbers->forward();
    result.output = model.forward(batch);
  }
  result.output.to(torch::kFloat32).square().sum().backward();
  for (const auto& item : model.named_parameters())
    result.gradients.emplace_back(item.key(), item.value().grad());
  result.drawn_after = torch::rand({3});
  return result;
}

// The most bytes held at once on this thread.
class MemoryPeak : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
    held_ += size;
    peak = std::max(peak, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t peak = 0;

 private:
  std::int64_t held_ = 0;
};

std::int64_t peak_of(const std::function<void()>& work) {
  const auto listener = std::make_shared<MemoryPeak>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, listener);
  work();
  return listener->peak;
}

}  // namespace

TEST_CASE("checkpoint_activations: outputs and gradients are the same") {
  const std::string name = GENERATE("gpt", "llama", "bert", "vit", "transformer");
  const std::string precision = GENERATE("fp32", "bf16", "fp8");
  const double dropout = GENERATE(0.0, 0.3);
  CAPTURE(name, precision, dropout);
  const Pass plain = pass(*transformer(name, false, dropout), name, precision);
  const Pass checkpointed = pass(*transformer(name, true, dropout), name, precision);
  CHECK(torch::equal(plain.output, checkpointed.output));
  CHECK(torch::equal(plain.drawn_after, checkpointed.drawn_after));
  // Where four gradients meet, as in bert, they are added in another order, which narrow numbers show.
  const double tolerance = name == "bert" && precision != "fp32" ? 0.02 : 1e-5;
  REQUIRE(plain.gradients.size() == checkpointed.gradients.size());
  for (std::size_t i = 0; i < plain.gradients.size(); ++i) {
    const torch::Tensor &expected = plain.gradients[i].second, found = checkpointed.gradients[i].second;
    INFO(plain.gradients[i].first);
    REQUIRE(expected.defined() == found.defined());
    if (!expected.defined()) continue;
    CHECK((expected - found).abs().max().item<double>() <=
          tolerance * expected.abs().max().item<double>() + 1e-6);
  }
}

TEST_CASE("checkpoint_activations: less memory at the peak") {
  const auto peak = [](bool checkpoint) {
    const auto model = transformer("gpt", checkpoint, 0.1);
    pass(*model, "gpt", "fp32");  // gradients are there before
    return peak_of([&] { pass(*model, "gpt", "fp32"); });
  };
  const std::int64_t plain = peak(false), checkpointed = peak(true);
  CAPTURE(plain, checkpointed);
  CHECK(checkpointed * 2 < plain);
}

TEST_CASE("checkpoint_activations: frozen parameters get no gradient, the others do") {
  const auto model = transformer("gpt", true, 0);
  auto parameters = model->named_parameters();
  for (auto& item : parameters) {
    if (item.key() != "transformer.h.2.mlp.c_fc.weight") item.value().set_requires_grad(false);
  }
  pass(*model, "gpt", "fp32");
  for (const auto& item : parameters) CHECK(item.value().grad().defined() == item.value().requires_grad());
}

TEST_CASE("checkpoint_activations: several inputs, some of which need no gradient") {
  torch::nn::Linear layer(3, 3);
  const auto x = torch::rand({2, 3}, torch::requires_grad()), mask = torch::rand({2, 3});
  const auto work = [layer](const std::vector<torch::Tensor>& in) mutable { return layer(in[0]) * in[1]; };
  const auto gradient = [&](bool checkpoint) {
    x.mutable_grad() = torch::Tensor();
    run_segment(checkpoint, *layer, work, {x, mask}).sum().backward();
    return x.grad();
  };
  CHECK(torch::equal(gradient(true), gradient(false)));
  CHECK_FALSE(mask.requires_grad());
}

TEST_CASE("checkpoint_activations: nothing is computed twice where no gradient is asked for") {
  int calls = 0;
  torch::nn::Linear layer(3, 3);
  const auto work = [&](const std::vector<torch::Tensor>& in) {
    ++calls;
    return layer(in[0]);
  };
  {
    const torch::NoGradGuard no_grad;
    CHECK_FALSE(run_segment(true, *layer, work, {torch::rand({2, 3})}).requires_grad());
  }
  CHECK(calls == 1);
  run_segment(true, *layer, work, {torch::rand({2, 3})}).sum().backward();
  CHECK(calls == 3);
}
