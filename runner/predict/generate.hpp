#pragma once

#include <torch/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "components/contract/example_random.hpp"
#include "components/datasets/dataset.hpp"
#include "components/models/language_model.hpp"

namespace runner {

// How the next token is sampled.
struct TokenChoice {
  double temperature = 1.0;                // logits are divided by it; 0: always the likeliest
  std::optional<std::int64_t> top_k = {};  // only the k likeliest tokens
  std::optional<double> top_p = {};        // only the likeliest tokens that together reach this probability
};

// Samples a token from logits [vocabulary]. The same logits and random state give the same token.
std::int64_t choose_token(const torch::Tensor& logits, const TokenChoice& choice, ExampleRandom& random);

struct Continuation {
  std::int64_t tokens = 200;  // number of tokens to generate
  TokenChoice choice = {};
  std::uint64_t seed = 0;
  std::int64_t vocabulary = 0;          // only token ids below this; 0: the whole vocabulary of the model
  std::vector<std::int64_t> ends = {};  // the text is over when one of these comes, which is not part of it
};

// Continues the prompt, which must have at least one token, and calls `tell` with each new token. The model
// must be on that device in evaluation mode. Only the new token is computed, unless the context is full: then
// the second half of the context is computed again.
std::vector<std::int64_t> generate(LanguageModel& model, torch::Device device,
                                   const std::vector<std::int64_t>& prompt, const Continuation& how,
                                   const std::function<void(std::int64_t)>& tell);

// Decodes tokens incrementally. A character may span several tokens, and some tokenizers decode the first
// token of a text differently, so the last few tokens are decoded with and without the new ones, and the
// difference is the new text.
class TextStream {
 public:
  explicit TextStream(const Interpreter& interpreter) : interpreter_(interpreter) {}

  std::string add(std::int64_t token);  // the new text; empty while a character is incomplete
  std::string rest();                   // what add() has held back

 private:
  std::string fresh(bool whole_only);

  const Interpreter& interpreter_;
  std::vector<std::int64_t> tokens_;
  std::size_t begin_ = 0,
              shown_ = 0;  // tokens before `shown_` are shown; those from `begin_` on are decoded again
};

}  // namespace runner
