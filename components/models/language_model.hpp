#pragma once

#include "components/layers/kv_cache.hpp"
#include "components/models/model.hpp"

namespace runner {

// A model that predicts the next token: forward returns logits [examples, positions, vocabulary].
class LanguageModel : public Model {
 public:
  // The logits [examples, vocabulary] of the token after those in the cache and the given tokens [examples,
  // any number], which are added to the cache. Both together are at most context().
  virtual torch::Tensor next(const torch::Tensor& tokens, KvCache& cache) = 0;

  virtual std::int64_t context() const = 0;     // tokens it can look back on
  virtual std::int64_t vocabulary() const = 0;  // how many tokens there are
};

}  // namespace runner
