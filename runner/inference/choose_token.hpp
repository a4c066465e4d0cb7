#pragma once

#include <torch/types.h>

#include <optional>

#include "components/contract/sample_random.hpp"

namespace runner {

// How the next token is drawn.
struct TokenChoice {
  double temperature = 1.0;                // logits are divided by it; 0: always the likeliest
  std::optional<std::int64_t> top_k = {};  // only the k likeliest tokens
  std::optional<double> top_p = {};        // only the likeliest that together reach this probability
};

// One token, drawn by the logits [vocabulary]. The same logits and random numbers give the same token.
std::int64_t choose_token(const torch::Tensor& logits, const TokenChoice& choice, SampleRandom& random);

}  // namespace runner
