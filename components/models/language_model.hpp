#pragma once

#include <utility>
#include <vector>

#include "components/models/model.hpp"

namespace runner {

// What a model keeps of the tokens it has seen, so that each further token costs one token's work: a pair of
// tensors a layer, keys and values or whatever else the model needs.
struct DecodingCache {
  std::int64_t length = 0;  // tokens seen
  std::vector<std::pair<torch::Tensor, torch::Tensor>> layers = {};
};

// A model that says how likely each token is to follow: forward gives logits [examples, positions,
// vocabulary].
class LanguageModel : public Model {
 public:
  // The logits [examples, vocabulary] of what follows the tokens [examples, any number] and those that the
  // cache has seen; the cache has seen all of them afterwards. Together not more than context().
  virtual torch::Tensor next(const torch::Tensor& tokens, DecodingCache& cache) = 0;

  virtual std::int64_t context() const = 0;     // tokens it can look back on
  virtual std::int64_t vocabulary() const = 0;  // how many tokens there are
};

}  // namespace runner
