#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/losses/loss.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
namespace F = torch::nn::functional;

constexpr std::int64_t classes = 5;

std::unique_ptr<Loss> loss(const Settings& settings = {}) {
  return part<LossKind>("cross_entropy", settings).build({{.classes = classes}});
}

double mean(const Loss& loss, const torch::Tensor& output, const torch::Tensor& target) {
  const Batch batch{torch::zeros({output.size(0), 1}), target};
  return loss.sum(output, batch).item<double>() / loss.weight(batch);
}

const std::vector<double> weights{0.5, 2.0, 1.0, 0.25, 3.0};
Setting weights_setting() { return Setting::list({0.5, 2.0, 1.0, 0.25, 3.0}); }

struct Case {
  std::string name;
  Settings settings;
  F::CrossEntropyFuncOptions options;
};

std::vector<Case> cases() {
  const torch::Tensor class_weights = torch::tensor(weights, torch::kFloat32);
  return {
      {"plain", {}, {}},
      {"smoothing", {{"label_smoothing", 0.1}}, F::CrossEntropyFuncOptions().label_smoothing(0.1)},
      {"weights", {{"class_weights", weights_setting()}}, F::CrossEntropyFuncOptions().weight(class_weights)},
      {"ignored", {{"ignore_index", 2}}, F::CrossEntropyFuncOptions().ignore_index(2)},
      {"everything",
       {{"class_weights", weights_setting()}, {"label_smoothing", 0.2}, {"ignore_index", 1}},
       F::CrossEntropyFuncOptions().weight(class_weights).label_smoothing(0.2).ignore_index(1)}};
}

TEST_CASE("sum over weight is PyTorch's mean, for labels, shares and dense targets", "[losses]") {
  const torch::Tensor labels = torch::tensor({0, 1, 2, 2, 4, 3, 1}, torch::kInt64);
  const torch::Tensor output = 3 * wave({7, classes}, 0.3);
  const torch::Tensor shares = wave({7, classes}, 0.9).softmax(1);
  const torch::Tensor dense_output = 3 * wave({2, classes, 3, 4}, 0.5);
  const torch::Tensor dense_labels = torch::arange(24).remainder(classes).reshape({2, 3, 4});
  for (const Case& one : cases()) {
    DYNAMIC_SECTION(one.name) {
      const auto ours = loss(one.settings);
      const auto same = [&](const torch::Tensor& scores, const torch::Tensor& target) {
        const double expected = F::cross_entropy(scores, target, one.options).item<double>();
        REQUIRE_THAT(mean(*ours, scores, target), Catch::Matchers::WithinRel(expected, 1e-6));
      };
      same(output, labels);
      same(dense_output, dense_labels);
      if (one.options.ignore_index() < 0)
        same(output, shares);  // PyTorch refuses shares with an ignored label
    }
  }
}

TEST_CASE("micro-batches of any size add up to the whole batch", "[losses]") {
  const torch::Tensor labels = torch::tensor({0, 1, 2, 2, 4, 3, 1}, torch::kInt64);
  const torch::Tensor output = 3 * wave({7, classes}, 0.3);
  const auto ours = loss({{"class_weights", weights_setting()}, {"ignore_index", 1}});
  double sum = 0, weight = 0;
  for (const auto& [begin, end] : {std::pair{0, 3}, {3, 4}, {4, 7}}) {
    const Batch part{torch::zeros({end - begin, 1}), labels.slice(0, begin, end)};
    sum += ours->sum(output.slice(0, begin, end), part).item<double>();
    weight += ours->weight(part);
  }
  REQUIRE_THAT(sum / weight, Catch::Matchers::WithinRel(mean(*ours, output, labels), 1e-6));
}

TEST_CASE("narrow outputs are summed in fp32, and bytes serve as labels", "[losses]") {
  const torch::Tensor labels = torch::tensor({0, 1, 2, 4}, torch::kUInt8);
  const torch::Tensor output = wave({4, classes}, 0.3).to(torch::kBFloat16).requires_grad_();
  const Batch batch{torch::zeros({4, 1}), labels};
  const torch::Tensor sum = loss()->sum(output, batch);
  REQUIRE(sum.scalar_type() == torch::kFloat32);
  sum.backward();
  REQUIRE(output.grad().defined());
}

TEST_CASE("the weight of a label that is a byte is that of its class", "[losses]") {
  const auto ours = part<LossKind>("cross_entropy", {{"class_weights", Setting::table({{"156", 3.0}})}})
                        .build({DataSpec{.classes = 200}});
  // As a byte, the label to ignore, -100, would be 156.
  REQUIRE(ours->weight({torch::zeros({2, 1}), torch::tensor({156, 7}, torch::kUInt8)}) == 4);
}

TEST_CASE("targets that do not fit are explained", "[losses]") {
  const auto ours = loss();
  const torch::Tensor output = wave({3, classes}, 0.3);
  const auto with = [&](const torch::Tensor& target) { return Batch{torch::zeros({3, 1}), target}; };
  const Batch too_high = with(torch::tensor({0, 5, 1}, torch::kInt64));
  REQUIRE_THROWS_WITH(ours->sum(output, too_high),
                      ContainsSubstring("label 5") && ContainsSubstring("5 classes (0 to 4)"));
  REQUIRE_THROWS_WITH(ours->weight(too_high), ContainsSubstring("label 5"));
  REQUIRE_THROWS_WITH(ours->sum(output, with(torch::tensor({0, -1, 1}, torch::kInt64))),
                      ContainsSubstring("label -1"));
  REQUIRE_NOTHROW(ours->sum(output, with(torch::tensor({0, -100, 1}, torch::kInt64))));
  REQUIRE_THROWS_WITH(ours->sum(output, with(torch::zeros({2}, torch::kInt64))),
                      ContainsSubstring("[3, 5]") && ContainsSubstring("targets are [2]"));
  REQUIRE_THROWS_WITH(ours->sum(output, with(torch::zeros({3}))), ContainsSubstring("class shares"));
  REQUIRE_THROWS_WITH(ours->sum(output.flatten(), with(torch::zeros({3}, torch::kInt64))),
                      ContainsSubstring("[examples, classes, ..]"));
}

TEST_CASE("class weights must be as many as the classes", "[losses]") {
  REQUIRE_THROWS_WITH(
      loss({{"class_weights", Setting::list({1.0, 2.0})}}),
      ContainsSubstring("loss.class_weights has 2 numbers") && ContainsSubstring("5 classes"));
  const auto unknown =
      part<LossKind>("cross_entropy", {{"class_weights", Setting::list({1.0, 2.0})}}).build({});
  const Batch batch{torch::zeros({1, 1}), torch::zeros({1}, torch::kInt64)};
  REQUIRE_THROWS_WITH(unknown->sum(torch::zeros({1, 3}), batch), ContainsSubstring("gives 3 classes"));
}

}  // namespace
}  // namespace runner::testing
