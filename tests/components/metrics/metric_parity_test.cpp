// Metrics against scikit-learn, over batches of any size: tests/parity/metrics_reference.py made the numbers.
#include <torch/types.h>

#include <catch2/catch_all.hpp>
#include <cmath>

#include "components/metrics/metric.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/reference_numbers.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::int64_t examples = 61;

torch::Tensor rounded(const std::vector<std::int64_t>& shape, double start) {
  return torch::round(4 * wave(shape, start)) / 4;
}
torch::Tensor labels(std::int64_t classes, double start) {
  return torch::floor((wave({examples}, start).to(torch::kFloat64) + 1) / 2.001 * classes).to(torch::kInt64);
}
torch::Tensor five_classes() {
  torch::Tensor outputs = rounded({examples, 5}, 0.3);
  outputs.select(1, 4).fill_(-9);
  return outputs;
}

// Not rounded: probabilities that are equal on paper are ties on one processor and not on another.
torch::Tensor five_ranked_classes() {
  torch::Tensor outputs = wave({examples, 5}, 0.3).clone();
  outputs.select(1, 4).fill_(-9);
  return outputs;
}

torch::Tensor label_scores() {
  torch::Tensor scores = rounded({examples, 4}, 0.7);
  scores.select(1, 3).fill_(-1);
  return scores;
}
torch::Tensor wanted_labels() {
  torch::Tensor wanted = wave({examples, 4}, 1.9).gt(0.2).to(torch::kFloat32);
  wanted.select(1, 3).fill_(0);
  return wanted;
}

struct Case {
  std::string name;
  std::string metric;
  torch::Tensor output, target;
  Settings settings = {};
  std::optional<Targets> targets = {};
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const torch::Tensor outputs = five_classes();
  for (const auto& [name, right] : {std::pair{"classes", labels(3, 1.1)}, {"all", labels(5, 1.1)}}) {
    for (const std::string metric : {"precision", "recall", "f1"}) {
      for (const std::string average : {"macro", "micro", "weighted"}) {
        const std::string key = std::string(name) + "." + metric + "_" + average;
        all.push_back({key, metric, outputs, right, {{"average", average}}});
      }
    }
    for (const std::string metric : {"auroc", "average_precision"})
      all.push_back({std::string(name) + "." + metric, metric, five_ranked_classes(), right});
  }
  const torch::Tensor scores = rounded({examples}, 0.5);
  const torch::Tensor yes = labels(2, 2.3);
  const torch::Tensor two =
      torch::stack({0.5 - scores, scores + 0.5}, 1) / 2;  // the same ranking by two outputs
  for (const std::string metric : {"precision", "recall", "f1", "accuracy", "auroc", "average_precision"}) {
    Settings settings;
    if (metric != "accuracy" && metric[0] != 'a') settings.emplace_back("average", "binary");
    const std::string key = "binary." + metric;
    all.push_back({key, metric, scores, yes, settings});
    all.push_back({key, metric, scores.unsqueeze(1), yes.to(torch::kFloat32).unsqueeze(1), settings});
    if (metric[0] == 'a' && metric != "accuracy") all.push_back({key, metric, two, yes});
  }
  for (const std::string metric : {"auroc", "average_precision"}) {
    all.push_back({"ones." + metric, metric, scores, torch::ones({examples}, torch::kInt64)});
    all.push_back({"zeros." + metric, metric, scores, torch::zeros({examples}, torch::kInt64)});
  }
  all.push_back({"zeros.f1", "f1", scores, torch::zeros({examples}, torch::kInt64), {{"average", "binary"}}});
  for (const std::string metric : {"auroc", "average_precision"}) {
    for (const std::string average : {"macro", "micro", "weighted"}) {
      const Settings how{{"average", average}};
      all.push_back({"all." + metric + "_" + average, metric, five_ranked_classes(), labels(5, 1.1), how});
      all.push_back({"labels." + metric + "_" + average, metric, label_scores().slice(1, 0, 3),
                     wanted_labels().slice(1, 0, 3), how, Targets::binary});
    }
  }
  for (const std::string metric : {"precision", "recall", "f1"}) {
    for (const std::string average : {"macro", "micro", "weighted", "samples"})
      all.push_back({"labels." + metric + "_" + average,
                     metric,
                     label_scores(),
                     wanted_labels(),
                     {{"average", average}},
                     Targets::binary});
  }
  all.push_back({"labels.accuracy", "accuracy", label_scores(), wanted_labels(), {}, Targets::binary});
  all.push_back({"labels.accuracy_each",
                 "accuracy",
                 label_scores(),
                 wanted_labels(),
                 {{"labels", "each"}},
                 Targets::binary});
  torch::Tensor target = (1000 + wave({examples, 3}, 0.2).to(torch::kFloat64)).to(torch::kFloat32);
  target.select(1, 2).fill_(1000);
  const torch::Tensor output =
      (target.to(torch::kFloat64) + 0.3 * wave({examples, 3}, 0.9)).to(torch::kFloat32);
  for (const std::string metric : {"mae", "rmse", "r2"}) {
    all.push_back({"three." + metric, metric, output, target});
    all.push_back({"varying." + metric, metric, output.slice(1, 0, 2), target.slice(1, 0, 2)});
    all.push_back({"one." + metric, metric, output.select(1, 0), target.select(1, 0)});
    all.push_back({"one." + metric, metric, output.slice(1, 0, 1), target.select(1, 0)});
  }
  all.push_back({"met.r2", "r2", target.select(1, 2), target.select(1, 2)});
  all.push_back({"single.r2", "r2", output.slice(0, 0, 1).select(1, 0), target.slice(0, 0, 1).select(1, 0)});
  return all;
}

double over_batches(Metric& metric, const torch::Tensor& output, const torch::Tensor& target,
                    std::int64_t batch_size) {
  metric.reset();
  for (std::int64_t begin = 0; begin < output.size(0); begin += batch_size) {
    const auto end = std::min(begin + batch_size, output.size(0));
    metric.update(output.slice(0, begin, end), {torch::zeros({end - begin, 1}), target.slice(0, begin, end)});
  }
  const auto results = metric.compute();
  REQUIRE(results.size() == 1);
  return results.front().second;
}

TEST_CASE("metrics are scikit-learn's, for every batch size", "[metrics]") {
  const ReferenceNumbers reference("metrics.txt");
  for (const Case& one : cases()) {
    DYNAMIC_SECTION(one.name << " of outputs " << one.output.sizes()) {
      const auto metric = part<MetricKind>(one.metric, one.settings).build({.targets = one.targets});
      const double expected = reference[one.name].front();
      for (const std::int64_t batch_size : {1, 7, 61}) {
        const double ours = over_batches(*metric, one.output, one.target, batch_size);
        if (std::isnan(expected)) {
          REQUIRE(std::isnan(ours));
        } else {
          REQUIRE_THAT(ours, Catch::Matchers::WithinRel(expected, 1e-11) ||
                                 Catch::Matchers::WithinAbs(expected, 1e-14));
        }
      }
    }
  }
}

TEST_CASE("a confusion matrix of several labels is scikit-learn's, label by label", "[metrics]") {
  const ReferenceNumbers reference("metrics.txt");
  const auto metric = part<MetricKind>("confusion_matrix").build({.targets = Targets::binary});
  metric->update(label_scores(), {torch::zeros({examples, 1}), wanted_labels()});
  CHECK_THAT(metric->compute().front().second,
             Catch::Matchers::WithinRel(reference["labels.balanced_accuracy"].front(), 1e-12));
  std::istringstream text(metric->text());
  std::string line;
  std::getline(text, line);
  std::vector<double> numbers;
  for (std::string label; text >> label;) {
    for (int i = 0; i < 4; ++i) {
      double number = 0;
      text >> number;
      numbers.push_back(number);
    }
  }
  CHECK(numbers == reference["labels.confusion"]);
}

TEST_CASE("what has no meaning for these targets is refused", "[metrics]") {
  const auto refuses = [](const std::string& name, const Settings& settings, const std::string& why) {
    const auto metric = part<MetricKind>(name, settings).build({.targets = Targets::binary});
    CHECK_THROWS_WITH(metric->update(label_scores(), {torch::zeros({examples, 1}), wanted_labels()}),
                      ContainsSubstring(why));
  };
  refuses("expected_calibration_error", {}, "multi-label task");
  refuses("f1", {{"average", "binary"}}, "use \"macro\"");
  const Batch batch{torch::zeros({examples, 1}), labels(5, 1.1)};
  for (const auto& [name, settings] : {std::pair<std::string, Settings>{"f1", {{"average", "samples"}}},
                                       {"accuracy", {{"labels", "all"}}}}) {
    const auto metric = part<MetricKind>(name, settings).build({});
    CHECK_THROWS_WITH(metric->update(five_classes(), batch), ContainsSubstring("multi-label tasks"));
  }
  const auto auroc = part<MetricKind>("auroc", {{"average", "micro"}}).build({});
  CHECK_THROWS_WITH(auroc->update(rounded({examples}, 0.5), {torch::zeros({examples, 1}), labels(2, 2.3)}),
                    ContainsSubstring("\"average\" is for more than two classes"));
}

TEST_CASE("labels to ignore are as if they were not there, in dense outputs too", "[metrics]") {
  const std::string name =
      GENERATE("precision", "recall", "f1", "auroc", "average_precision", "expected_calibration_error");
  const auto metric = part<MetricKind>(name).build({});
  torch::Tensor right = labels(5, 1.1);
  const double expected = over_batches(*metric, five_classes().slice(0, 0, 40), right.slice(0, 0, 40), 7);
  right.slice(0, 40).fill_(-100);
  REQUIRE_THAT(over_batches(*metric, five_classes(), right, 7), Catch::Matchers::WithinRel(expected, 1e-12));
  const torch::Tensor dense = five_classes().slice(0, 0, 60).reshape({3, 20, 5}).transpose(1, 2);
  REQUIRE_THAT(over_batches(*metric, dense, right.slice(0, 0, 60).reshape({3, 20}), 2),
               Catch::Matchers::WithinRel(expected, 1e-12));
}

// By the definition, bin after bin.
double calibration_error(const torch::Tensor& probabilities, const torch::Tensor& right, int bins) {
  double error = 0;
  const auto [confidence, answers] = probabilities.max(1);
  for (int bin = 0; bin < bins; ++bin) {
    const torch::Tensor inside = confidence.gt(static_cast<double>(bin) / bins)
                                     .logical_and(confidence.le(static_cast<double>(bin + 1) / bins));
    const auto count = inside.sum().item<double>();
    if (count == 0) continue;
    const auto hits = answers.eq(right).logical_and(inside).sum().item<double>();
    const auto sure = confidence.masked_select(inside).sum().item<double>();
    error += count / static_cast<double>(right.numel()) * std::abs(hits / count - sure / count);
  }
  return error;
}

TEST_CASE("the expected calibration error follows its definition", "[metrics]") {
  const torch::Tensor outputs = 3 * five_classes();
  const torch::Tensor right = labels(5, 1.1);
  for (const int bins : {1, 4, 15}) {
    const auto metric = part<MetricKind>("expected_calibration_error", {{"bins", bins}}).build({});
    const double expected = calibration_error(outputs.to(torch::kFloat64).softmax(1), right, bins);
    for (const std::int64_t batch_size : {1, 7, 61})
      REQUIRE_THAT(over_batches(*metric, outputs, right, batch_size),
                   Catch::Matchers::WithinRel(expected, 1e-12));
  }
  // One score is two classes: 0 against it. A score of 0 is a confidence of 1/2, the upper end of its bin: a
  // right answer there does not make up for a wrong one in the next.
  const auto metric = part<MetricKind>("expected_calibration_error", {{"bins", 2}}).build({});
  const double sure = 1 / (1 + std::exp(-1.0));
  REQUIRE_THAT(over_batches(*metric, torch::tensor({0.0, 1.0}), torch::tensor({0, 0}), 1),
               Catch::Matchers::WithinRel((0.5 + sure) / 2, 1e-12));
}

TEST_CASE("one score for each example fills a confusion matrix of two classes", "[metrics]") {
  const auto metric = part<MetricKind>("confusion_matrix").build({});
  metric->update(torch::tensor({0.5, -1.0, 2.0}), {torch::zeros({3, 1}), torch::tensor({1, 0, 0})});
  REQUIRE(metric->text() ==
          "rows: true class; columns: predicted class\n"
          "            0      1\n"
          "0           1      1\n"
          "1           0      1");
}

TEST_CASE("a metric says what it cannot compare", "[metrics]") {
  const Batch batch{torch::zeros({4, 1}), torch::zeros({3}, torch::kInt64)};
  for (const std::string name : {"f1", "auroc", "expected_calibration_error"}) {
    const auto metric = part<MetricKind>(name).build({});
    REQUIRE_THROWS_WITH(metric->update(torch::zeros({4}), batch),
                        ContainsSubstring("one score for each example"));
    REQUIRE_THROWS_WITH(metric->update(torch::zeros({4, 2}), batch), ContainsSubstring("[4, 2]"));
  }
  const auto f1 = part<MetricKind>("f1", {{"average", "binary"}}).build({});
  REQUIRE_THROWS_WITH(f1->update(torch::zeros({3, 5}), batch), ContainsSubstring("use \"macro\""));
  const auto mae = part<MetricKind>("mae").build({});
  REQUIRE_THROWS_WITH(mae->update(torch::zeros({3, 5}), batch),
                      ContainsSubstring("mae") && ContainsSubstring("[3, 5]"));
}

}  // namespace
}  // namespace runner::testing
