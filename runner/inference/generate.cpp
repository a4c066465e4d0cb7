#include "runner/inference/generate.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <span>

namespace runner {

std::vector<std::int64_t> generate(LanguageModel& model, torch::Device device,
                                   const std::vector<std::int64_t>& prompt, const Continuation& how,
                                   const std::function<void(std::int64_t)>& tell) {
  const torch::NoGradGuard no_grad;
  SampleRandom random(how.seed);
  std::vector<std::int64_t> all = prompt;
  DecodingCache cache;
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
    all.push_back(choose_token(logits, how.choice, random));
    unseen = 1;
    tell(all.back());
  }
  return {all.begin() + std::ssize(prompt), all.end()};
}

}  // namespace runner
