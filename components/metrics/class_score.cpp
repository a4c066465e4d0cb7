#include "components/metrics/class_score.hpp"

#include <stdexcept>

#include "components/metrics/accumulate.hpp"
#include "components/metrics/labels.hpp"
#include "registry/base/log.hpp"

namespace runner {

namespace {

std::string full_name(const std::string& name, Average average) {
  if (average == Average::binary) return name;
  for (const auto& word : describe(std::type_identity<Average>{})) {
    if (word.value == average) return name + "_" + std::string(word.name);
  }
  return name;
}

class ClassScoreMetric final : public Metric {
 public:
  ClassScoreMetric(const ClassScoreSettings& settings, double (*score)(const ClassCount&))
      : name_(full_name(settings.name, settings.average)), settings_(settings), score_(score) {}

  void reset() override {
    counts_.reset();
    example_scores_.reset();
    examples_ = 0;
  }

  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    several_labels(settings_.targets, output) ? add_labels(output, batch.target)
                                              : add_classes(output, batch.target);
  }

  std::vector<std::pair<std::string, double>> compute() const override { return {{name_, combined()}}; }

  State accumulated() const override {
    State state;
    if (counts_.defined()) {
      state.tensors["counts"] = counts_;
      state.integers["every_label_counts"] = every_label_counts_;
    }
    if (!example_scores_.defined()) return state;
    state.tensors["example_scores"] = example_scores_;
    state.integers["examples"] = examples_;
    return state;
  }

  void merge(const State& other) override {
    StateReader saved(other);
    if (const torch::Tensor* counts = saved.find_tensor("counts")) {
      add_to(counts_, *counts);
      every_label_counts_ = saved.integer("every_label_counts") != 0;
    }
    if (const torch::Tensor* scores = saved.find_tensor("example_scores")) add_to(example_scores_, *scores);
    examples_ += saved.find_integer("examples").value_or(0);
    saved.finish();
  }

 private:
  void add_classes(const torch::Tensor& output, const torch::Tensor& target) {
    const std::int64_t classes = classes_of(output);
    if (settings_.average == Average::binary && classes != 2) {
      throw std::runtime_error(
          log::format("{}: average = \"binary\" is for two classes, but the model has {}: use \"macro\".",
                      name_, classes));
    }
    if (settings_.average == Average::samples) {
      throw std::runtime_error(name_ +
                               ": average = \"samples\" is for multi-label tasks, and these targets have "
                               "one class per example: use \"macro\".");
    }
    const auto [answers, labels] = answers_of(output, target, settings_.ignore_index);
    // Ignored targets go to an extra bin: removing them would have to wait for the device.
    const torch::Tensor uncounted = labels.eq(settings_.ignore_index);
    const auto count = [&](const torch::Tensor& where) {
      return torch::bincount(where.flatten(), {}, classes + 1).slice(0, 0, classes);
    };
    add_to(counts_,
           torch::stack({count(labels.masked_fill(uncounted.logical_or(answers.ne(labels)), classes)),
                         count(answers.masked_fill(uncounted, classes)),
                         count(labels.masked_fill(uncounted, classes))}));
  }

  void add_labels(const torch::Tensor& output, const torch::Tensor& target) {
    if (settings_.average == Average::binary) {
      throw std::runtime_error(name_ +
                               ": average = \"binary\" is for two classes, but each example has several "
                               "labels: use \"macro\".");
    }
    every_label_counts_ = true;
    const LabelRows rows = label_rows(output, target, settings_.ignore_index);
    const torch::Tensor answers = rows.answers().logical_and(rows.counted);
    const torch::Tensor labels = rows.yes.logical_and(rows.counted);
    const auto counted_over = [&](std::int64_t dimension) {
      return torch::stack(
          {answers.logical_and(labels).sum(dimension), answers.sum(dimension), labels.sum(dimension)});
    };
    if (settings_.average != Average::samples) return add_to(counts_, counted_over(0));
    double sum = 0;
    for (const ClassCount& example : columns_of(counted_over(1))) sum += score_(example);
    add_to(example_scores_, torch::tensor(sum, torch::kFloat64));
    examples_ += labels.size(0);
  }

  static std::vector<ClassCount> columns_of(const torch::Tensor& counted) {
    if (!counted.defined()) return {};
    const torch::Tensor counts = counted.cpu().to(torch::kFloat64);
    const auto at = counts.accessor<double, 2>();
    std::vector<ClassCount> columns;
    for (std::int64_t i = 0; i < counts.size(1); ++i) columns.push_back({at[0][i], at[1][i], at[2][i]});
    return columns;
  }

  double combined() const {
    if (settings_.average == Average::samples)
      return example_scores_.defined() ? ratio(example_scores_.item<double>(), static_cast<double>(examples_))
                                       : 0;
    const std::vector<ClassCount> classes = columns_of(counts_);
    if (settings_.average == Average::binary) return classes.empty() ? 0 : score_(classes[1]);
    ClassCount all;
    double sum = 0, weighted = 0, present = 0;
    for (const ClassCount& one : classes) {
      if (!every_label_counts_ && one.answers + one.labels == 0) continue;
      const double score = score_(one);
      sum += score;
      weighted += score * one.labels;
      present += 1;
      all = {all.hits + one.hits, all.answers + one.answers, all.labels + one.labels};
    }
    switch (settings_.average) {
      case Average::macro: return ratio(sum, present);
      case Average::weighted: return ratio(weighted, all.labels);
      default: return score_(all);
    }
  }

  std::string name_;
  ClassScoreSettings settings_;
  double (*score_)(const ClassCount&);
  torch::Tensor counts_;          // [hits, answers, labels] of each class; undefined before the first batch
  torch::Tensor example_scores_;  // sum over the examples, for "samples"
  std::int64_t examples_ = 0;
  // In multi-label tasks, labels that never occur count too, as in scikit-learn.
  bool every_label_counts_ = false;
};

}  // namespace

MetricFacts class_score_facts(const std::string& name, Average average) {
  std::vector<Targets> targets{Targets::class_index, Targets::class_shares, Targets::binary};
  if (average == Average::samples) targets = {Targets::binary};
  return {{{full_name(name, average), Better::max}}, std::move(targets)};
}

std::unique_ptr<Metric> make_class_score(const ClassScoreSettings& settings,
                                         double (*score)(const ClassCount&)) {
  return std::make_unique<ClassScoreMetric>(settings, score);
}

}  // namespace runner
