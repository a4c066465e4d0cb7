#include <iomanip>
#include <numeric>

#include "components/metrics/metric.hpp"
#include "components/metrics/support/labels.hpp"

namespace runner {
namespace {

struct ConfusionMatrix {
  std::int64_t ignore_index = -100;
};

constexpr auto describe(std::type_identity<ConfusionMatrix>) {
  return fields(
      field("ignore_index", &ConfusionMatrix::ignore_index, "Targets with this label are not counted."));
}

constexpr std::int64_t widest_table = 20;    // classes; more do not fit on a screen
constexpr std::size_t listed_mistakes = 10;  // what is shown instead

// How often class i was taken for class j: numbers for the recall of each class, a text for the whole.
class ConfusionMatrixMetric final : public Metric {
 public:
  ConfusionMatrixMetric(const ConfusionMatrix& settings, const DataSpec& data)
      : settings_(settings), classes_(data.classes), class_names_(data.class_names) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> names{"balanced_accuracy"};
    for (std::int64_t i = 0; i < classes_; ++i) names.push_back("recall/" + class_name(i));
    return names;
  }

  void reset() override { counts_ = torch::Tensor{}; }

  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    const auto [answers, labels] = answers_of(output, batch.target);
    const std::int64_t classes = classes_of(output);
    // What is not counted goes into one bin more: leaving it out would have to wait for the device.
    const torch::Tensor bin = torch::where(labels.ne(settings_.ignore_index), labels * classes + answers,
                                           torch::full({}, classes * classes, labels.options()));
    const torch::Tensor counts = torch::bincount(bin.flatten(), {}, classes * classes + 1);
    counts_ = counts_.defined() ? counts_ + counts : counts;
  }

  std::vector<std::pair<std::string, double>> compute() const override {
    const auto rows = matrix();
    std::vector<std::pair<std::string, double>> recalls;
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto total =
          static_cast<double>(std::accumulate(rows[i].begin(), rows[i].end(), std::int64_t{0}));
      if (total == 0) continue;  // not in the set: it has no recall
      const double recall = static_cast<double>(rows[i][i]) / total;
      recalls.emplace_back("recall/" + class_name(static_cast<std::int64_t>(i)), recall);
      sum += recall;
    }
    const double mean = recalls.empty() ? 0 : sum / static_cast<double>(recalls.size());
    recalls.insert(recalls.begin(), {"balanced_accuracy", mean});
    return recalls;
  }

  std::string text() const override {
    const auto rows = matrix();
    return static_cast<std::int64_t>(rows.size()) <= widest_table ? table(rows) : worst_mistakes(rows);
  }

 private:
  using Matrix = std::vector<std::vector<std::int64_t>>;

  std::string class_name(std::int64_t index) const {
    const auto place = static_cast<std::size_t>(index);
    return place < class_names_.size() ? class_names_[place] : std::to_string(index);
  }

  Matrix matrix() const {
    if (!counts_.defined()) return {};
    const torch::Tensor counts = counts_.cpu();
    const auto classes = static_cast<std::size_t>(std::sqrt(static_cast<double>(counts.numel())));
    const auto* count = counts.const_data_ptr<std::int64_t>();
    Matrix rows(classes);
    for (auto& row : rows) {
      row.assign(count, count + classes);
      count += classes;
    }
    return rows;
  }

  std::string table(const Matrix& rows) const {
    std::size_t width = 6;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      width = std::max(width, class_name(static_cast<std::int64_t>(i)).size());
    }
    const auto cell = static_cast<int>(std::min<std::size_t>(width, 12)) + 1;
    std::ostringstream text;
    text << "rows: the right class; columns: the model's answer\n"
         << std::setw(static_cast<int>(width)) << "";
    const auto column_name = [&](std::size_t i) {
      return class_name(static_cast<std::int64_t>(i)).substr(0, 12);
    };
    for (std::size_t i = 0; i < rows.size(); ++i) text << std::setw(cell) << column_name(i);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      text << '\n'
           << std::left << std::setw(static_cast<int>(width)) << class_name(static_cast<std::int64_t>(i));
      text << std::right;
      for (const std::int64_t count : rows[i]) text << std::setw(cell) << count;
    }
    return text.str();
  }

  std::string worst_mistakes(const Matrix& rows) const {
    std::vector<std::tuple<std::int64_t, std::size_t, std::size_t>> mistakes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < rows.size(); ++j) {
        if (i != j && rows[i][j] > 0) mistakes.emplace_back(-rows[i][j], i, j);
      }
    }
    std::ranges::sort(mistakes);
    mistakes.resize(std::min(mistakes.size(), listed_mistakes));
    std::string text = "the most frequent mistakes";
    for (const auto& [count, right, answer] : mistakes) {
      text += "\n" + std::to_string(-count) + " times " + class_name(static_cast<std::int64_t>(right)) +
              " taken for " + class_name(static_cast<std::int64_t>(answer));
    }
    return text;
  }

  ConfusionMatrix settings_;
  std::int64_t classes_;  // as the data says; 0: unknown
  std::vector<std::string> class_names_;
  torch::Tensor counts_;  // classes², flat, and one more; undefined before the first batch
};

std::unique_ptr<Metric> build(const ConfusionMatrix& settings, const MetricInputs& inputs) {
  return std::make_unique<ConfusionMatrixMetric>(settings, inputs.data);
}

const Registration<MetricKind> registration{
    "confusion_matrix",
    "Which class is taken for which; recall of each class, and their mean (balanced accuracy).", &build};

}  // namespace
}  // namespace runner
