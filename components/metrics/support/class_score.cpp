#include "components/metrics/support/class_score.hpp"

#include <stdexcept>

#include "components/metrics/support/labels.hpp"
#include "registry/log.hpp"

namespace runner {

namespace {

std::string suffix(Average average) {
  if (average == Average::binary) return "";
  for (const auto& word : describe(std::type_identity<Average>{})) {
    if (word.value == average) return "_" + std::string(word.name);
  }
  return "";
}

class ClassScoreMetric final : public Metric {
 public:
  ClassScoreMetric(const std::string& name, const ClassScore& settings, double (*score)(const ClassCount&))
      : name_(name + suffix(settings.average)), settings_(settings), score_(score) {}

  std::vector<std::string> names() const override { return {name_}; }
  void reset() override { counts_ = torch::Tensor{}; }

  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    const std::int64_t classes = classes_of(output);
    if (settings_.average == Average::binary && classes != 2) {
      throw std::runtime_error(log::format(
          "{}: average = \"binary\" is for two classes, but the model tells {} apart: use \"macro\".", name_,
          classes));
    }
    const auto [answers, labels] = answers_of(output, batch.target);
    // What is not counted goes into one bin more: leaving it out would have to wait for the device.
    const torch::Tensor uncounted = labels.eq(settings_.ignore_index);
    const auto count = [&](const torch::Tensor& where) {
      return torch::bincount(where.flatten(), {}, classes + 1).slice(0, 0, classes);
    };
    const torch::Tensor counts = torch::stack(
        {count(labels.masked_fill(uncounted.logical_or(answers.ne(labels)), classes)),
         count(answers.masked_fill(uncounted, classes)), count(labels.masked_fill(uncounted, classes))});
    counts_ = counts_.defined() ? counts_ + counts : counts;
  }

  std::vector<std::pair<std::string, double>> compute() const override { return {{name_, combined(rows())}}; }

 private:
  std::vector<ClassCount> rows() const {
    if (!counts_.defined()) return {};
    const torch::Tensor counts = counts_.cpu().to(torch::kFloat64);
    const auto at = counts.accessor<double, 2>();
    std::vector<ClassCount> rows;
    for (std::int64_t i = 0; i < counts.size(1); ++i) rows.push_back({at[0][i], at[1][i], at[2][i]});
    return rows;
  }

  double combined(const std::vector<ClassCount>& rows) const {
    if (settings_.average == Average::binary) return rows.empty() ? 0 : score_(rows[1]);
    ClassCount all;
    double sum = 0, weighted = 0, present = 0;
    for (const ClassCount& row : rows) {
      if (row.answers + row.labels == 0) continue;
      const double score = score_(row);
      sum += score;
      weighted += score * row.labels;
      present += 1;
      all = {all.hits + row.hits, all.answers + row.answers, all.labels + row.labels};
    }
    switch (settings_.average) {
      case Average::macro: return ratio(sum, present);
      case Average::weighted: return ratio(weighted, all.labels);
      default: return score_(all);
    }
  }

  std::string name_;
  ClassScore settings_;
  double (*score_)(const ClassCount&);
  torch::Tensor counts_;  // hits, answers, labels of each class; undefined before the first batch
};

}  // namespace

std::unique_ptr<Metric> make_class_score(const std::string& name, const ClassScore& settings,
                                         double (*score)(const ClassCount&)) {
  return std::make_unique<ClassScoreMetric>(name, settings, score);
}

}  // namespace runner
