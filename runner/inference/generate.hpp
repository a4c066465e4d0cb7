#pragma once

#include <torch/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "components/contract/sample_random.hpp"
#include "components/datasets/dataset.hpp"
#include "components/models/language_model.hpp"

namespace runner {

// How the next token is drawn.
struct TokenChoice {
  double temperature = 1.0;                // logits are divided by it; 0: always the likeliest
  std::optional<std::int64_t> top_k = {};  // only the k likeliest tokens
  std::optional<double> top_p = {};        // only the likeliest that together reach this probability
};

// One token, drawn by the logits [vocabulary]. The same logits and random numbers give the same token.
std::int64_t choose_token(const torch::Tensor& logits, const TokenChoice& choice, SampleRandom& random);

struct Continuation {
  std::int64_t tokens = 200;  // how many more
  TokenChoice choice = {};
  std::uint64_t seed = 0;
  std::int64_t vocabulary = 0;  // only tokens below this; 0: all that the model knows
};

// Continues the prompt, which has at least one token, and tells of each token as it comes; the model is in
// evaluation mode on that device. Each token costs one token's work, except where the context is full: the
// model then continues from the second half of it.
std::vector<std::int64_t> generate(LanguageModel& model, torch::Device device,
                                   const std::vector<std::int64_t>& prompt, const Continuation& how,
                                   const std::function<void(std::int64_t)>& tell);

// Tokens to text as they come. A character may take several tokens, and some tokenizers write a token
// differently at the beginning than after others, so what is new is what a few tokens say more than all but
// the last of them.
class TextStream {
 public:
  explicit TextStream(const Interpreter& interpreter) : interpreter_(interpreter) {}

  std::string add(std::int64_t token);  // what can be shown now: nothing while a character is not whole
  std::string rest();                   // what was held back

 private:
  std::string fresh(bool whole_only);

  const Interpreter& interpreter_;
  std::vector<std::int64_t> tokens_;
  std::size_t begin_ = 0,
              shown_ = 0;  // all before `shown_` is shown; those from `begin_` on are its surroundings
};

}  // namespace runner
