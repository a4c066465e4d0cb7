// The smaller losses against PyTorch's own functions: the sum over the weight is PyTorch's mean.
#include <torch/nn/functional/activation.h>
#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/losses/loss.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
namespace F = torch::nn::functional;

constexpr std::int64_t classes = 5;

std::unique_ptr<Loss> loss(const std::string& name, const Settings& settings = {}) {
  return part<LossKind>(name, settings).build({});
}

Batch with(const torch::Tensor& target) { return {torch::zeros({target.size(0), 1}), target}; }

void require_mean(const Loss& ours, const torch::Tensor& output, const torch::Tensor& target,
                  const torch::Tensor& expected) {
  const Batch batch = with(target);
  REQUIRE_THAT(ours.sum(output, batch).item<double>() / ours.weight(batch),
               WithinRel(expected.item<double>(), 1e-6));
}

torch::Tensor labels() { return torch::tensor({0, 1, 2, 2, 4, 3, 1}, torch::kInt64); }
torch::Tensor scores() { return 3 * wave({7, classes}, 0.3); }
Setting five_weights() { return Setting::list({0.5, 1.0, 0.75, 0.25, 0.125}); }
torch::Tensor five_weights_tensor() { return torch::tensor({0.5, 1.0, 0.75, 0.25, 0.125}, torch::kFloat32); }

TEST_CASE("l1 and huber are PyTorch's", "[losses]") {
  const torch::Tensor output = 3 * wave({6, 3}, 0.3);
  const torch::Tensor target = 3 * wave({6, 3}, 1.3);
  require_mean(*loss("l1"), output, target, F::l1_loss(output, target));
  require_mean(*loss("huber"), output, target, F::huber_loss(output, target));
  require_mean(*loss("huber", {{"delta", 0.4}}), output, target,
               F::huber_loss(output, target, F::HuberLossFuncOptions().delta(0.4)));
  REQUIRE_THROWS_WITH(loss("l1")->sum(output, with(target.slice(1, 0, 2))),
                      ContainsSubstring("l1") && ContainsSubstring("[6, 3]") && ContainsSubstring("[6, 2]"));
}

TEST_CASE("an autoencoder's target is its input", "[losses]") {
  const std::string name = GENERATE("mse", "l1", "huber");
  const torch::Tensor image = wave({4, 3, 2, 2}, 0.3);
  const torch::Tensor output = wave({4, 3, 2, 2}, 0.9);
  const Batch batch{image, torch::zeros({4}, torch::kInt64)};
  const auto ours = loss(name, {{"target", "input"}});
  const auto plain = loss(name);
  REQUIRE(ours->weight(batch) == image.numel());
  REQUIRE_THAT(ours->sum(output, batch).item<double>(),
               WithinRel(plain->sum(output, with(image)).item<double>(), 1e-7));
  REQUIRE_THROWS_WITH(ours->sum(output.flatten(1), batch),
                      ContainsSubstring("inputs are [4, 3, 2, 2]") && ContainsSubstring("[4, 12]"));
}

TEST_CASE("bce_with_logits is PyTorch's, for labels and shares, with a weight for yes", "[losses]") {
  const torch::Tensor output = 3 * wave({6, 3}, 0.3);
  const torch::Tensor yes = wave({6, 3}, 1.3).gt(0).to(GENERATE(torch::kFloat32, torch::kInt64));
  const torch::Tensor target = yes.to(torch::kFloat32);
  using Options = F::BinaryCrossEntropyWithLogitsFuncOptions;
  require_mean(*loss("bce_with_logits"), output, yes, F::binary_cross_entropy_with_logits(output, target));
  require_mean(*loss("bce_with_logits"), output, 0.9 * target + 0.05,
               F::binary_cross_entropy_with_logits(output, 0.9 * target + 0.05));
  require_mean(
      *loss("bce_with_logits", {{"pos_weight", Setting::list({3.0})}}), output, yes,
      F::binary_cross_entropy_with_logits(output, target, Options().pos_weight(torch::tensor({3.0F}))));
  const auto each = loss("bce_with_logits", {{"pos_weight", Setting::list({3.0, 0.5, 2.0})}});
  const torch::Tensor weights = torch::tensor({3.0F, 0.5F, 2.0F});
  require_mean(*each, output, yes,
               F::binary_cross_entropy_with_logits(output, target, Options().pos_weight(weights)));
  // Dense outputs [examples, outputs, ..] have one weight for each output, not for each column.
  const torch::Tensor dense = output.reshape({2, 3, 3}), dense_target = target.reshape({2, 3, 3});
  require_mean(
      *each, dense, dense_target,
      F::binary_cross_entropy_with_logits(dense, dense_target, Options().pos_weight(weights.unsqueeze(1))));
  // One answer for each example, with or without its own dimension.
  require_mean(*loss("bce_with_logits"), output.slice(1, 0, 1), yes.select(1, 0),
               F::binary_cross_entropy_with_logits(output.select(1, 0), target.select(1, 0)));
  REQUIRE_THROWS_WITH(each->sum(output.slice(1, 0, 2), with(yes.slice(1, 0, 2))),
                      ContainsSubstring("loss.pos_weight has 3 numbers"));
  REQUIRE_THROWS_WITH(each->sum(output, with(2 * yes)),
                      ContainsSubstring("one is 2") && ContainsSubstring("cross_entropy"));
  REQUIRE_THROWS_WITH(each->sum(output, with(torch::full_like(target, NAN))),
                      ContainsSubstring("one is nan"));
}

TEST_CASE("nll is PyTorch's", "[losses]") {
  const torch::Tensor logs = scores().log_softmax(1);
  require_mean(*loss("nll"), logs, labels(), F::nll_loss(logs, labels()));
  require_mean(
      *loss("nll", {{"class_weights", five_weights()}, {"ignore_index", 2}}), logs, labels(),
      F::nll_loss(logs, labels(), F::NLLLossFuncOptions().weight(five_weights_tensor()).ignore_index(2)));
  const torch::Tensor dense = (3 * wave({2, classes, 3, 4}, 0.5)).log_softmax(1);
  const torch::Tensor dense_labels = torch::arange(24).remainder(classes).reshape({2, 3, 4});
  require_mean(*loss("nll"), dense, dense_labels, F::nll_loss(dense, dense_labels));
  REQUIRE_THROWS_WITH(loss("nll")->sum(logs, with(scores().softmax(1))), ContainsSubstring("needs labels"));
  REQUIRE_THROWS_WITH(loss("nll")->sum(logs, with(labels() + 1)), ContainsSubstring("label 5"));
}

TEST_CASE("kl_div is PyTorch's batchmean, from logits or from logs of probabilities", "[losses]") {
  const torch::Tensor target = wave({7, classes}, 0.9).softmax(1);
  const torch::Tensor logs = scores().log_softmax(1);
  const auto expected = F::kl_div(logs, target, F::KLDivFuncOptions().reduction(torch::kBatchMean));
  require_mean(*loss("kl_div"), scores(), target, expected);
  require_mean(*loss("kl_div", {{"outputs", "log_probabilities"}}), logs, target, expected);
  require_mean(*loss("kl_div", {{"log_target", true}}), scores(), target.log(), expected);
  REQUIRE_THROWS_WITH(loss("kl_div")->sum(scores(), with(labels())), ContainsSubstring("kl_div"));
}

// Example by example, from the definition.
double focal_by_hand(const torch::Tensor& output, const torch::Tensor& right, double gamma,
                     const std::vector<double>& alpha, std::int64_t ignored) {
  const torch::Tensor p = output.to(torch::kFloat64).softmax(1);
  double sum = 0, count = 0;
  for (std::int64_t i = 0; i < right.size(0); ++i) {
    const auto label = right[i].item<std::int64_t>();
    if (label == ignored) continue;
    const auto sure = p[i][label].item<double>();
    sum -= alpha[static_cast<std::size_t>(label)] * std::pow(1 - sure, gamma) * std::log(sure);
    count += 1;
  }
  return sum / count;
}

TEST_CASE("focal follows its definition and is cross entropy at gamma = 0", "[losses]") {
  require_mean(*loss("focal", {{"gamma", 0.0}}), scores(), labels(), F::cross_entropy(scores(), labels()));
  const double gamma = GENERATE(0.5, 2.0, 5.0);
  const auto by_hand = [&](const std::vector<double>& alpha, std::int64_t ignored) {
    return torch::tensor(focal_by_hand(scores(), labels(), gamma, alpha, ignored), torch::kFloat64);
  };
  require_mean(*loss("focal", {{"gamma", gamma}}), scores(), labels(), by_hand({1, 1, 1, 1, 1}, -100));
  require_mean(*loss("focal", {{"gamma", gamma}, {"alpha", five_weights()}, {"ignore_index", 2}}), scores(),
               labels(), by_hand({0.5, 1.0, 0.75, 0.25, 0.125}, 2));
  REQUIRE_THROWS_WITH(loss("focal", {{"alpha", Setting::list({0.5, 0.5})}})->sum(scores(), with(labels())),
                      ContainsSubstring("loss.alpha has 2 numbers"));
}

TEST_CASE("focal for yes and no is the two-class one", "[losses]") {
  const torch::Tensor output = 3 * wave({6}, 0.3);
  const torch::Tensor yes = wave({6}, 1.3).gt(0).to(torch::kInt64);
  const torch::Tensor two = torch::stack({torch::zeros_like(output), output}, 1);
  const auto expected = [&](const std::vector<double>& alpha) {
    return torch::tensor(focal_by_hand(two, yes, 2.0, alpha, -100), torch::kFloat64);
  };
  require_mean(*loss("focal", {{"targets", "binary"}}), output, yes, expected({1, 1}));
  require_mean(*loss("focal", {{"targets", "binary"}, {"alpha", Setting::list({0.25})}}), output.unsqueeze(1),
               yes, expected({0.75, 0.25}));
  REQUIRE_THROWS_WITH(loss("focal", {{"targets", "binary"}, {"alpha", Setting::list({0.5, 0.5})}}),
                      ContainsSubstring("weight of target 1"));
  REQUIRE_THROWS_WITH(loss("focal", {{"targets", "binary"}, {"ignore_index", 1}}),
                      ContainsSubstring("no effect"));
}

TEST_CASE("focal has a gradient where an answer is perfect", "[losses]") {
  const double gamma = GENERATE(0.0, 0.5, 1.0, 2.0);
  const torch::Tensor sure = torch::tensor({{200.0F, 0.0F}, {0.0F, 200.0F}}).requires_grad_();
  loss("focal", {{"gamma", gamma}})->sum(sure, with(torch::tensor({0, 0}))).backward();
  REQUIRE(sure.grad().isfinite().all().item<bool>());
  const torch::Tensor one = torch::tensor({200.0F, -200.0F}).requires_grad_();
  loss("focal", {{"gamma", gamma}, {"targets", "binary"}})->sum(one, with(torch::tensor({1, 1}))).backward();
  REQUIRE(one.grad().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace runner::testing
