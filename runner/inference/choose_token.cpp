#include "runner/inference/choose_token.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace runner {

std::int64_t choose_token(const torch::Tensor& logits, const TokenChoice& choice, SampleRandom& random) {
  const torch::Tensor numbers = logits.to(torch::kCPU, torch::kFloat64).contiguous();
  const std::span<const double> scores(numbers.const_data_ptr<double>(), numbers.numel());
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto likelier = [&](std::int64_t a, std::int64_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  const double best = *std::ranges::max_element(scores);
  if (!std::isfinite(best) || std::ranges::any_of(scores, [](double score) { return std::isnan(score); })) {
    throw std::runtime_error(
        "The model's output is not finite: its weights are not those of a training that succeeded.");
  }
  if (choice.temperature == 0) return *std::ranges::min_element(order, likelier);

  if (choice.top_k && *choice.top_k < std::ssize(order)) {
    std::nth_element(order.begin(), order.begin() + *choice.top_k - 1, order.end(), likelier);
    order.resize(*choice.top_k);
  }
  if (choice.top_p) std::ranges::sort(order, likelier);
  std::vector<double> weights;
  for (const std::int64_t token : order)
    weights.push_back(std::exp((scores[token] - best) / choice.temperature));
  double total = std::reduce(weights.begin(), weights.end());
  if (choice.top_p) {
    const double enough = *choice.top_p * total;
    total = 0;
    std::size_t kept = 0;
    while (kept < weights.size() && (kept == 0 || total < enough)) total += weights[kept++];
    weights.resize(kept);
  }
  double left = random.uniform() * total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (left < weights[i]) return order[i];
    left -= weights[i];
  }
  return order[weights.size() - 1];
}

}  // namespace runner
