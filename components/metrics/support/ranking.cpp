#include "components/metrics/support/ranking.hpp"

#include "components/metrics/support/labels.hpp"

namespace runner {

namespace {

std::vector<TiedGroup> in_groups(const torch::Tensor& scores, const torch::Tensor& is_yes) {
  const auto [sorted, order] = scores.sort(/*dim=*/0, /*descending=*/true);
  const torch::Tensor yes = is_yes.index({order}).contiguous();
  const auto* score = sorted.const_data_ptr<double>();
  const auto* hit = yes.const_data_ptr<bool>();
  std::vector<TiedGroup> groups;
  for (std::int64_t i = 0; i < sorted.numel(); ++i) {
    if (i == 0 || score[i] != score[i - 1]) groups.emplace_back();
    (hit[i] ? groups.back().yes : groups.back().no) += 1;
  }
  return groups;
}

class RankingMetric final : public Metric {
 public:
  RankingMetric(const std::string& name, const Ranking& settings, double (*judge)(std::span<const TiedGroup>))
      : name_(name), settings_(settings), judge_(judge) {}

  std::vector<std::string> names() const override { return {name_}; }

  void reset() override {
    scores_.clear();
    labels_.clear();
  }

  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    auto [scores, labels] = rows_of(output, batch.target);
    // Two classes rank by their difference, as by the probability of class 1, but without its rounding to 1.
    if (scores.size(1) == 2) scores = scores.select(1, 1).sub(scores.select(1, 0)).unsqueeze(1);
    if (scores.size(1) > 2) scores = scores.softmax(1);
    scores_.push_back(scores.cpu());
    labels_.push_back(labels.cpu());
  }

  std::vector<std::pair<std::string, double>> compute() const override { return {{name_, mean()}}; }

 private:
  double mean() const {
    if (scores_.empty()) return judge_({});
    torch::Tensor labels = torch::cat(labels_);
    const torch::Tensor counted = labels.ne(settings_.ignore_index);
    const torch::Tensor scores = torch::cat(scores_).index({counted});
    labels = labels.index({counted});
    const std::int64_t columns = scores.size(1);
    if (columns == 1) return judge_(in_groups(scores.select(1, 0), labels.eq(1)));
    double sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) sum += judge_(in_groups(scores.select(1, i), labels.eq(i)));
    return sum / static_cast<double>(columns);
  }

  std::string name_;
  Ranking settings_;
  double (*judge_)(std::span<const TiedGroup>);
  std::vector<torch::Tensor> scores_;  // of each batch: [rows, 1 or classes]
  std::vector<torch::Tensor> labels_;
};

}  // namespace

std::unique_ptr<Metric> make_ranking(const std::string& name, const Ranking& settings,
                                     double (*judge)(std::span<const TiedGroup>)) {
  return std::make_unique<RankingMetric>(name, settings, judge);
}

}  // namespace runner
