#include "components/metrics/ranking.hpp"

#include <stdexcept>

#include "components/metrics/labels.hpp"

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
  RankingMetric(const RankingSettings& settings, double (*judge)(std::span<const TiedGroup>))
      : settings_(settings), judge_(judge) {}

  void reset() override {
    scores_.clear();
    yes_.clear();
    counted_.clear();
  }

  void update(const torch::Tensor& output, const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    if (several_labels(settings_.targets, output)) {
      const LabelRows rows = label_rows(output, batch.target, settings_.ignore_index);
      return keep(rows.scores, rows.yes, rows.counted);
    }
    auto [scores, labels] = rows_of(output, batch.target, settings_.ignore_index);
    // The difference of two scores ranks as the probability of class 1 does, without being rounded to 1.
    if (scores.size(1) == 2) scores = scores.select(1, 1).sub(scores.select(1, 0)).unsqueeze(1);
    const std::int64_t columns = scores.size(1);
    if (columns > 2) scores = scores.softmax(1);
    const torch::Tensor counted = labels.ne(settings_.ignore_index).unsqueeze(1).expand({-1, columns});
    const torch::Tensor classes =
        columns == 1 ? torch::ones({1}, labels.options()) : torch::arange(columns, labels.options());
    keep(scores, labels.unsqueeze(1).eq(classes), counted);
  }

  std::vector<std::pair<std::string, double>> compute() const override {
    return {{settings_.name, combined()}};
  }

  State accumulated() const override {
    if (scores_.empty()) return {};
    return {.tensors = {{"scores", torch::cat(scores_)},
                        {"yes", torch::cat(yes_)},
                        {"counted", torch::cat(counted_)}}};
  }

  void merge(const State& other) override {
    if (other.empty()) return;
    StateReader saved(other);
    keep(saved.tensor("scores"), saved.tensor("yes"), saved.tensor("counted"));
    saved.finish();
  }

 private:
  void keep(const torch::Tensor& scores, const torch::Tensor& yes, const torch::Tensor& counted) {
    if (scores.size(1) == 1 && settings_.average) {
      throw std::runtime_error(
          settings_.name +
          ": \"average\" is for more than two classes or for multi-label tasks, but here there is one score "
          "per example: delete it.");
    }
    scores_.push_back(scores.cpu());
    yes_.push_back(yes.cpu());
    counted_.push_back(counted.cpu());
  }

  double combined() const {
    if (scores_.empty()) return judge_({});
    const torch::Tensor scores = torch::cat(scores_), yes = torch::cat(yes_), counted = torch::cat(counted_);
    const auto judged = [&](const torch::Tensor& of_scores, const torch::Tensor& of_yes,
                            const torch::Tensor& where) {
      return judge_(in_groups(of_scores.masked_select(where), of_yes.masked_select(where)));
    };
    const RankingAverage average = settings_.average.value_or(RankingAverage::macro);
    if (average == RankingAverage::micro) return judged(scores, yes, counted);
    double sum = 0, weights = 0;
    for (std::int64_t i = 0; i < scores.size(1); ++i) {
      const torch::Tensor column = counted.select(1, i);
      const double weight =
          average == RankingAverage::macro ? 1.0 : yes.select(1, i).logical_and(column).sum().item<double>();
      sum += weight * judged(scores.select(1, i), yes.select(1, i), column);
      weights += weight;
    }
    return sum / weights;
  }

  RankingSettings settings_;
  double (*judge_)(std::span<const TiedGroup>);
  // Of each batch: [rows, 1 or classes or labels].
  std::vector<torch::Tensor> scores_, yes_, counted_;
};

}  // namespace

std::string ranking_name(const std::string& name, std::optional<RankingAverage> average) {
  if (average == RankingAverage::micro) return name + "_micro";
  return average == RankingAverage::weighted ? name + "_weighted" : name;
}

MetricFacts ranking_facts(const std::string& name) {
  return {{{name, Better::max}}, {Targets::class_index, Targets::class_shares, Targets::binary}};
}

std::unique_ptr<Metric> make_ranking(const RankingSettings& settings,
                                     double (*judge)(std::span<const TiedGroup>)) {
  return std::make_unique<RankingMetric>(settings, judge);
}

}  // namespace runner
