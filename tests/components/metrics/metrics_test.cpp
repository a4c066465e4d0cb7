#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/metrics/metric.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using Results = std::map<std::string, double>;

constexpr std::int64_t classes = 4, examples = 23;

const torch::Tensor& outputs() {
  static const torch::Tensor made = wave({examples, classes}, 0.3);
  return made;
}
torch::Tensor labels() { return torch::arange(examples).remainder(3); }  // class 3 never occurs

Results over_batches(Metric& metric, std::int64_t batch_size, const torch::Tensor& target) {
  metric.reset();
  for (std::int64_t begin = 0; begin < examples; begin += batch_size) {
    const auto end = std::min(begin + batch_size, examples);
    metric.update(outputs().slice(0, begin, end),
                  {torch::zeros({end - begin, 1}), target.slice(0, begin, end)});
  }
  const auto results = metric.compute();
  return {results.begin(), results.end()};
}

// Counted one by one, the way one would by hand.
double share_within(std::int64_t k) {
  std::int64_t hits = 0;
  for (std::int64_t i = 0; i < examples; ++i) {
    std::vector<std::pair<float, std::int64_t>> ranked;
    for (std::int64_t j = 0; j < classes; ++j) ranked.emplace_back(-outputs()[i][j].item<float>(), j);
    std::ranges::sort(ranked);
    for (std::int64_t j = 0; j < k; ++j) hits += ranked[static_cast<std::size_t>(j)].second == i % 3;
  }
  return static_cast<double>(hits) / examples;
}

TEST_CASE("accuracy and top_k are exact for every batch size", "[metrics]") {
  const std::int64_t batch_size = GENERATE(1, 4, 7, 23, 100);
  const DataSpec data{.classes = classes};
  const auto accuracy = part<MetricKind>("accuracy").build({data});
  REQUIRE(over_batches(*accuracy, batch_size, labels()) == Results{{"accuracy", share_within(1)}});
  const auto top_2 = part<MetricKind>("top_k", {{"k", 2}}).build({data});
  REQUIRE(over_batches(*top_2, batch_size, labels()) == Results{{"top_2", share_within(2)}});
  REQUIRE(share_within(1) < share_within(2));
}

TEST_CASE("shares of classes count as the class with the largest share", "[metrics]") {
  const torch::Tensor shares = 0.9 * torch::one_hot(labels(), classes).to(torch::kFloat32) + 0.02;
  for (const std::string name : {"accuracy", "confusion_matrix"}) {
    const auto metric = part<MetricKind>(name).build({{.classes = classes}});
    REQUIRE(over_batches(*metric, 5, shares) == over_batches(*metric, 5, labels()));
  }
}

TEST_CASE("labels to ignore are not counted", "[metrics]") {
  torch::Tensor target = labels();
  target.slice(0, 0, 10).fill_(-100);
  const double expected = outputs().slice(0, 10).argmax(1).eq(target.slice(0, 10)).sum().item<double>() / 13;
  const auto accuracy = part<MetricKind>("accuracy").build({});
  REQUIRE_THAT(over_batches(*accuracy, 4, target).at("accuracy"), WithinRel(expected, 1e-12));
  const torch::Tensor counted = labels().ne(0);  // a class of its own may be the one to ignore
  const double others = outputs().argmax(1).eq(labels()).logical_and(counted).sum().item<double>();
  for (const std::string name : {"accuracy", "top_k"}) {
    Settings settings{{"ignore_index", 0}};
    if (name == "top_k") settings.emplace_back("k", 1);
    const auto metric = part<MetricKind>(name, settings).build({});
    REQUIRE_THAT(over_batches(*metric, 4, labels()).begin()->second,
                 WithinRel(others / counted.sum().item<double>(), 1e-12));
  }
  const auto matrix = part<MetricKind>("confusion_matrix", {{"ignore_index", 0}}).build({});
  REQUIRE_FALSE(over_batches(*matrix, 4, labels()).contains("recall/0"));
}

TEST_CASE("metrics ignore the label that the loss ignores, unless they have their own", "[metrics]") {
  torch::Tensor target = labels();
  target.slice(0, 0, 10).fill_(255);
  MetricInputs inputs;
  inputs.ignore_index = part<LossKind>("cross_entropy", {{"ignore_index", 255}}).facts().ignore_index;
  REQUIRE(inputs.ignore_index == 255);
  torch::Tensor usual = target.clone();
  usual.slice(0, 0, 10).fill_(-100);
  for (const std::string name : {"accuracy", "top_k", "f1", "precision", "recall", "confusion_matrix",
                                 "expected_calibration_error", "average_precision"}) {
    CAPTURE(name);
    Settings settings;
    if (name == "top_k") settings.emplace_back("k", 2);
    const auto metric = part<MetricKind>(name, settings).build(inputs);
    settings.emplace_back("ignore_index", -100);
    const auto own = part<MetricKind>(name, settings).build(inputs);
    REQUIRE(over_batches(*metric, 4, target) == over_batches(*own, 4, usual));
  }
}

TEST_CASE("a label that is no class is an error, not a wrong count", "[metrics]") {
  for (const std::string name : {"accuracy", "top_k", "confusion_matrix", "f1", "precision", "recall",
                                 "auroc", "average_precision", "expected_calibration_error"}) {
    Settings settings;
    if (name == "top_k") settings.emplace_back("k", 2);
    const auto metric = part<MetricKind>(name, settings).build({});
    for (const std::int64_t label : {std::int64_t{-1}, classes, std::int64_t{255}}) {
      CAPTURE(name, label);
      torch::Tensor target = labels();
      target[3].fill_(label);
      REQUIRE_THROWS_WITH(
          over_batches(*metric, 23, target),
          ContainsSubstring("the label " + std::to_string(label)) && ContainsSubstring("ignore_index"));
    }
  }
}

TEST_CASE("a label that is neither yes nor no is an error for one score per example", "[metrics]") {
  for (const std::string name :
       {"accuracy", "confusion_matrix", "f1", "auroc", "expected_calibration_error"}) {
    CAPTURE(name);
    const auto metric = part<MetricKind>(name).build({});
    REQUIRE_THROWS_WITH(
        metric->update(torch::tensor({{0.5}, {-0.5}}), {torch::zeros({2, 1}), torch::tensor({1, 2})}),
        ContainsSubstring("the label 2") && ContainsSubstring("2 classes"));
  }
}

TEST_CASE("labels that are bytes are not taken for the label to ignore", "[metrics]") {
  for (const std::string name : {"accuracy", "top_k"}) {
    CAPTURE(name);
    Settings settings;
    if (name == "top_k") settings.emplace_back("k", 1);
    const auto metric = part<MetricKind>(name, settings).build({});
    const torch::Tensor answers = torch::one_hot(torch::tensor({156, 156}), 200).to(torch::kFloat32);
    metric->update(answers,
                   {torch::zeros({2, 1}), torch::tensor({156, 3}, torch::kUInt8)});  // 156 is -100 + 256
    REQUIRE(metric->compute().front().second == 0.5);
  }
}

TEST_CASE("the calibration error of an output that is not a number is not a number", "[metrics]") {
  torch::Tensor output = torch::zeros({3, 2});
  output[1].fill_(NAN);
  const auto metric = part<MetricKind>("expected_calibration_error").build({});
  metric->update(output, {torch::zeros({3, 1}), torch::tensor({0, 1, 0})});
  REQUIRE(std::isnan(metric->compute().front().second));
}

TEST_CASE("the loss metric is the mean over the whole set, by the loss's own weight", "[metrics]") {
  const auto weights = Setting::list({0.5, 2.0, 1.0, 0.25});
  const auto loss = part<LossKind>("cross_entropy", {{"class_weights", weights}}).build({});
  const auto metric = part<MetricKind>("loss").build({.data = {}, .loss = loss.get()});
  const double expected =
      torch::nn::functional::cross_entropy(outputs().to(torch::kFloat64), labels(),
                                           torch::nn::functional::CrossEntropyFuncOptions().weight(
                                               torch::tensor({0.5, 2.0, 1.0, 0.25}, torch::kFloat64)))
          .item<double>();
  for (const std::int64_t batch_size : {1, 5, 23}) {
    REQUIRE_THAT(over_batches(*metric, batch_size, labels()).at("loss"), WithinRel(expected, 1e-6));
  }
}

TEST_CASE("the confusion matrix counts which class is taken for which", "[metrics]") {
  const auto metric =
      part<MetricKind>("confusion_matrix").build({{.classes = 3, .class_names = {"cat", "dog", "frog"}}});
  const torch::Tensor output = torch::eye(3).index_select(0, torch::tensor({0, 0, 1, 1, 0}));
  const torch::Tensor target = torch::tensor({0, 0, 0, 1, 1});
  metric->update(output.slice(0, 0, 2), {torch::zeros({2, 1}), target.slice(0, 0, 2)});
  metric->update(output.slice(0, 2, 5), {torch::zeros({3, 1}), target.slice(0, 2, 5)});
  const auto results = metric->compute();
  const Results found(results.begin(), results.end());
  REQUIRE_THAT(found.at("recall/cat"), WithinRel(2.0 / 3, 1e-12));
  REQUIRE_THAT(found.at("recall/dog"), WithinRel(0.5, 1e-12));
  REQUIRE_FALSE(found.contains("recall/frog"));  // not in the set
  REQUIRE_THAT(found.at("balanced_accuracy"), WithinRel((2.0 / 3 + 0.5) / 2, 1e-12));
  REQUIRE(metric->text() ==
          "rows: true class; columns: predicted class\n"
          "          cat    dog   frog\n"
          "cat         2      1      0\n"
          "dog         1      1      0\n"
          "frog        0      0      0");
  metric->reset();
  REQUIRE(metric->compute().size() == 1);
}

TEST_CASE("the confusion matrix stays aligned with large counts and names of any script", "[metrics]") {
  const auto metric =
      part<MetricKind>("confusion_matrix").build({{.classes = 2, .class_names = {"T恤 длинный рукав", "ö"}}});
  metric->merge({.tensors = {{"counts", torch::tensor(std::vector<std::int64_t>{1234567890123, 76543210987654,
                                                                                1, 2, 0})}}});
  CHECK(metric->text() ==
        "rows: true class; columns: predicted class\n"
        "                   T恤 длинный р              ö\n"
        "T恤 длинный рукав  1234567890123 76543210987654\n"
        "ö                             1              2");
}

TEST_CASE("a confusion matrix too wide for a screen lists the worst mistakes", "[metrics]") {
  const auto metric = part<MetricKind>("confusion_matrix").build({});
  const torch::Tensor answer = torch::tensor({7, 7, 7, 30});
  metric->update(torch::one_hot(answer, 40).to(torch::kFloat32),
                 {torch::zeros({4, 1}), torch::tensor({3, 3, 7, 1})});
  REQUIRE(metric->text() == "the most frequent mistakes\n2 times 3 taken for 7\n1 times 1 taken for 30");
}

TEST_CASE("names and directions are known before anything is built", "[metrics]") {
  const auto known = [](const std::string& name, const Settings& settings = {}) {
    return part<MetricKind>(name, settings).facts().measures;
  };
  REQUIRE(known("accuracy").front().name == "accuracy");
  REQUIRE(known("top_k", {{"k", 3}}).front().name == "top_3");
  REQUIRE(known("f1", {{"average", "weighted"}}).front().name == "f1_weighted");
  REQUIRE(known("recall", {{"average", "binary"}}).front().name == "recall");
  for (const std::string name : {"auroc", "average_precision"}) {  // several averages can be measured at once
    REQUIRE(known(name).front().name == name);
    REQUIRE(known(name, {{"average", "macro"}}).front().name == name);
    REQUIRE(known(name, {{"average", "micro"}}).front().name == name + "_micro");
    REQUIRE(known(name, {{"average", "weighted"}}).front().name == name + "_weighted");
  }
  REQUIRE(known("confusion_matrix").size() == 2);
  for (const std::string name : {"loss", "perplexity", "mae", "rmse", "expected_calibration_error"})
    REQUIRE(known(name).front().better == Better::min);
  for (const std::string name :
       {"accuracy", "f1", "precision", "recall", "auroc", "average_precision", "r2", "top_k"})
    REQUIRE(known(name).front().better == Better::max);
}

TEST_CASE("every metric says what it measures, and reports just that", "[metrics]") {
  const Registry registry = Registry::of_linked();
  for (const Descriptor* component : registry.of_kind("metric")) {
    const auto facts = part<MetricKind>(std::string(component->name)).facts();
    INFO(component->name);
    REQUIRE_FALSE(facts.measures.empty());
  }
}

TEST_CASE("what cannot be measured is explained", "[metrics]") {
  REQUIRE_THROWS_WITH(part<MetricKind>("top_k").build({{.classes = 3}}), ContainsSubstring("k = 5"));
  const auto accuracy = part<MetricKind>("accuracy").build({});
  REQUIRE_THROWS_WITH(
      accuracy->update(torch::zeros({4, 2}), {torch::zeros({4, 1}), torch::zeros({3}, torch::kInt64)}),
      ContainsSubstring("[4, 2]") && ContainsSubstring("[3]"));
  REQUIRE_THROWS_WITH(accuracy->update(torch::zeros({4, 2}), {torch::zeros({4, 1}), torch::zeros({4})}),
                      ContainsSubstring("labels"));
}

}  // namespace
}  // namespace runner::testing
