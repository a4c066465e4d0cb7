#pragma once

#include <utility>
#include <vector>

#include "components/models/model.hpp"

namespace runner {

// What a model keeps of the tokens it has seen, so that a further token costs the work of one token only: a
// pair of tensors per layer, such as keys and values.
struct DecodingCache {
  std::int64_t length = 0;  // tokens seen
  std::vector<std::pair<torch::Tensor, torch::Tensor>> layers = {};
};

// A model that predicts the next token: forward returns logits [examples, positions, vocabulary].
class LanguageModel : public Model {
 public:
  // The logits [examples, vocabulary] of the token after those in the cache and the given tokens [examples,
  // any number], which are added to the cache. Both together are at most context().
  virtual torch::Tensor next(const torch::Tensor& tokens, DecodingCache& cache) = 0;

  virtual std::int64_t context() const = 0;     // tokens it can look back on
  virtual std::int64_t vocabulary() const = 0;  // how many tokens there are
};

}  // namespace runner
