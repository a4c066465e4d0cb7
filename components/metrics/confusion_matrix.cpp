#include <numeric>

#include "components/metrics/accumulate.hpp"
#include "components/metrics/labels.hpp"
#include "components/metrics/metric.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"

namespace runner {
namespace {

struct ConfusionMatrix {
  std::optional<std::int64_t> ignore_index;
};

constexpr auto describe(std::type_identity<ConfusionMatrix>) {
  return fields(field("ignore_index", &ConfusionMatrix::ignore_index,
                      "Targets with this label are ignored; default: the loss's ignore_index."));
}

constexpr std::int64_t widest_table = 20;    // classes; a wider table does not fit on a screen
constexpr std::size_t listed_mistakes = 10;  // shown instead of a wider table

std::string spaces(std::string_view text, std::size_t width) {
  const std::size_t characters = utf8_characters(text);
  return std::string(width - std::min(width, characters), ' ');
}

std::string left_aligned(const std::string& text, std::size_t width) { return text + spaces(text, width); }
std::string right_aligned(std::string_view text, std::size_t width) {
  return spaces(text, width).append(text);
}

// How often class i was predicted as class j. Reports the recall of each class, and the matrix as text.
class ConfusionMatrixMetric final : public Metric {
 public:
  ConfusionMatrixMetric(const ConfusionMatrix& settings, const MetricInputs& inputs)
      : ignore_index_(settings.ignore_index.value_or(inputs.ignore_index)),
        targets_(inputs.targets),
        data_(inputs.data) {}

  void reset() override {
    counts_.reset();
    label_counts_.reset();
  }

  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    if (several_labels(targets_, output)) return add_labels(output, batch.target);
    const auto [answers, labels] = answers_of(output, batch.target, ignore_index_);
    const std::int64_t classes = classes_of(output);
    // Ignored targets go to an extra bin: removing them would have to wait for the device.
    const torch::Tensor bin = torch::where(labels.ne(ignore_index_), labels * classes + answers,
                                           torch::full({}, classes * classes, labels.options()));
    add_to(counts_, torch::bincount(bin.flatten(), {}, classes * classes + 1));
  }

  State accumulated() const override {
    State state;
    if (counts_.defined()) state.tensors["counts"] = counts_;
    if (label_counts_.defined()) state.tensors["label_counts"] = label_counts_;
    return state;
  }

  void merge(const State& other) override {
    StateReader saved(other);
    if (const torch::Tensor* counts = saved.find_tensor("counts")) add_to(counts_, *counts);
    if (const torch::Tensor* counts = saved.find_tensor("label_counts")) add_to(label_counts_, *counts);
    saved.finish();
  }

  std::vector<std::pair<std::string, double>> compute() const override {
    if (label_counts_.defined()) return label_scores();
    const auto rows = matrix();
    std::vector<std::pair<std::string, double>> recalls;
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto total =
          static_cast<double>(std::accumulate(rows[i].begin(), rows[i].end(), std::int64_t{0}));
      if (total == 0) continue;  // not in the validation set, so it has no recall
      const double recall = static_cast<double>(rows[i][i]) / total;
      recalls.emplace_back("recall/" + data_.class_name(static_cast<std::int64_t>(i)), recall);
      sum += recall;
    }
    const double mean = recalls.empty() ? 0 : sum / static_cast<double>(recalls.size());
    recalls.insert(recalls.begin(), {"balanced_accuracy", mean});
    return recalls;
  }

  std::string text() const override {
    if (label_counts_.defined()) return label_table();
    const auto rows = matrix();
    return static_cast<std::int64_t>(rows.size()) <= widest_table ? table(rows) : worst_mistakes(rows);
  }

 private:
  // Of one label of a multi-label task, as in scikit-learn's multilabel_confusion_matrix.
  struct LabelCount {
    std::int64_t right_no = 0, wrong_yes = 0, wrong_no = 0, right_yes = 0;
  };

  void add_labels(const torch::Tensor& output, const torch::Tensor& target) {
    const LabelRows rows = label_rows(output, target, ignore_index_);
    const torch::Tensor answer = rows.answers(), not_answer = answer.logical_not(),
                        no = rows.yes.logical_not();
    const auto count = [&](const torch::Tensor& given, const torch::Tensor& right) {
      return given.logical_and(right).logical_and(rows.counted).sum(0);
    };
    add_to(label_counts_, torch::stack({count(not_answer, no), count(answer, no), count(not_answer, rows.yes),
                                        count(answer, rows.yes)},
                                       1));
  }

  std::vector<LabelCount> label_counts() const {
    const torch::Tensor counts = label_counts_.cpu();
    const auto at = counts.accessor<std::int64_t, 2>();
    std::vector<LabelCount> labels;
    for (std::int64_t i = 0; i < counts.size(0); ++i)
      labels.push_back({at[i][0], at[i][1], at[i][2], at[i][3]});
    return labels;
  }

  // Balanced accuracy is the mean over the labels of scikit-learn's balanced accuracy of each label.
  std::vector<std::pair<std::string, double>> label_scores() const {
    std::vector<std::pair<std::string, double>> scores{{"balanced_accuracy", 0.0}};
    double sum = 0;
    const auto labels = label_counts();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto share = [](std::int64_t right, std::int64_t wrong) {
        return static_cast<double>(right) / static_cast<double>(right + wrong);
      };
      const LabelCount& one = labels[i];
      const bool has_yes = one.right_yes + one.wrong_no > 0, has_no = one.right_no + one.wrong_yes > 0;
      const double of_yes = has_yes ? share(one.right_yes, one.wrong_no) : 0;
      const double of_no = has_no ? share(one.right_no, one.wrong_yes) : 0;
      if (has_yes) scores.emplace_back("recall/" + data_.class_name(static_cast<std::int64_t>(i)), of_yes);
      if (has_yes || has_no) sum += (of_yes + of_no) / (has_yes && has_no ? 2 : 1);
    }
    if (!labels.empty()) scores.front().second = sum / static_cast<double>(labels.size());
    return scores;
  }

  std::string label_table() const {
    std::string text = left_aligned("label", 12);
    for (const char* name : {"right no", "wrong yes", "wrong no", "right yes"})
      text += right_aligned(name, 11);
    const auto labels = label_counts();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      text += '\n' + left_aligned(shown_name(static_cast<std::int64_t>(i)), 12);
      for (const auto count :
           {labels[i].right_no, labels[i].wrong_yes, labels[i].wrong_no, labels[i].right_yes})
        text += right_aligned(std::to_string(count), 11);
    }
    return text;
  }

  using Matrix = std::vector<std::vector<std::int64_t>>;

  std::string shown_name(std::int64_t index) const { return escaped_name(data_.class_name(index)); }

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
    constexpr std::size_t longest_column_name = 12;
    std::size_t width = 6, digits = 0;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      names.push_back(shown_name(static_cast<std::int64_t>(i)));
      width = std::max(width, utf8_characters(names.back()));
      for (const std::int64_t count : rows[i]) digits = std::max(digits, std::to_string(count).size());
    }
    const std::size_t cell = std::max(std::min(width, longest_column_name), digits) + 1;
    std::string text = "rows: true class; columns: predicted class\n" + std::string(width, ' ');
    for (const std::string& name : names) text += right_aligned(utf8_prefix(name, longest_column_name), cell);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      text += '\n' + left_aligned(names[i], width);
      for (const std::int64_t count : rows[i]) text += right_aligned(std::to_string(count), cell);
    }
    return text;
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
      text += "\n" + std::to_string(-count) + " times " + shown_name(static_cast<std::int64_t>(right)) +
              " taken for " + shown_name(static_cast<std::int64_t>(answer));
    }
    return text;
  }

  std::int64_t ignore_index_;
  std::optional<Targets> targets_;
  DataSpec data_;
  torch::Tensor counts_;        // classes² bins and one for ignored targets; undefined before the first batch
  torch::Tensor label_counts_;  // [labels, 4], only in multi-label tasks
};

MetricFacts facts(const ConfusionMatrix&) {
  return {{{"balanced_accuracy", Better::max}, {"recall/*", Better::max}},
          {Targets::class_index, Targets::class_shares, Targets::binary}};
}

std::unique_ptr<Metric> build(const ConfusionMatrix& settings, const MetricInputs& inputs) {
  return std::make_unique<ConfusionMatrixMetric>(settings, inputs);
}

const Registration<MetricKind> registration{
    "confusion_matrix", "Confusion matrix; recall of each class, and their mean (balanced accuracy).",
    &build};

}  // namespace
}  // namespace runner
