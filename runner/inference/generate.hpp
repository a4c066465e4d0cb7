#pragma once

#include <functional>
#include <vector>

#include "components/models/language_model.hpp"
#include "runner/inference/choose_token.hpp"

namespace runner {

struct Continuation {
  std::int64_t tokens = 200;  // how many more
  TokenChoice choice = {};
  std::uint64_t seed = 0;
  std::int64_t vocabulary = 0;  // only tokens below this; 0: all that the model knows
};

// Continues the prompt, which has at least one token, and tells of each token as it comes; the model is in
// evaluation mode on that device. Each token costs one token's work, except where the context is full: the
// model then goes on from the latter half of it.
std::vector<std::int64_t> generate(LanguageModel& model, torch::Device device,
                                   const std::vector<std::int64_t>& prompt, const Continuation& how,
                                   const std::function<void(std::int64_t)>& tell);

}  // namespace runner
