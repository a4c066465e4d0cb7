#include "runner/predict/generate.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>

namespace runner {

std::int64_t choose_token(const torch::Tensor& logits, const TokenChoice& choice, ExampleRandom& random) {
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
        "The model's output is not finite: its weights are probably from a run that diverged.");
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

std::vector<std::int64_t> generate(LanguageModel& model, torch::Device device,
                                   const std::vector<std::int64_t>& prompt, const Continuation& how,
                                   const std::function<void(std::int64_t)>& tell) {
  const torch::NoGradGuard no_grad;
  ExampleRandom random(how.seed);
  std::vector<std::int64_t> all = prompt;
  KvCache cache;
  std::int64_t unseen = std::min<std::int64_t>(std::ssize(all), model.context());
  for (std::int64_t i = 0; i < how.tokens; ++i) {
    if (cache.length + unseen > model.context()) {
      cache = {};
      unseen = std::max<std::int64_t>(1, model.context() / 2);
    }
    const std::span<const std::int64_t> latest = std::span(all).last(unseen);
    const auto tokens =
        torch::tensor(at::ArrayRef<std::int64_t>(latest.data(), latest.size()), torch::kInt64);
    auto logits = model.next(tokens.unsqueeze(0).to(device), cache).squeeze(0);
    if (how.vocabulary > 0) logits = logits.narrow(0, 0, std::min(how.vocabulary, logits.size(0)));
    const std::int64_t token = choose_token(logits, how.choice, random);
    if (std::ranges::find(how.ends, token) != how.ends.end()) break;
    all.push_back(token);
    unseen = 1;
    tell(all.back());
  }
  return {all.begin() + std::ssize(prompt), all.end()};
}

std::string TextStream::add(std::int64_t token) {
  tokens_.push_back(token);
  return fresh(/*whole_only=*/true);
}

std::string TextStream::rest() { return fresh(/*whole_only=*/false); }

std::string TextStream::fresh(bool whole_only) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";  // what an incomplete character is decoded to
  const std::span<const std::int64_t> all(tokens_);
  const std::string before = interpreter_.text(all.subspan(begin_, shown_ - begin_));
  const std::string now = interpreter_.text(all.subspan(begin_));
  if (now.size() <= before.size() || (whole_only && now.ends_with(replacement))) return "";
  begin_ = shown_;
  shown_ = tokens_.size();
  return now.substr(before.size());
}

}  // namespace runner
