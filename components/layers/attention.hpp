#pragma once

#include <torch/types.h>

#include <optional>

#include "components/layers/kv_cache.hpp"

namespace runner {

// A view of [examples, positions, heads * size] as [examples, heads, positions, size], and back.
torch::Tensor split_heads(const torch::Tensor& x, std::int64_t heads);
torch::Tensor join_heads(const torch::Tensor& x);

// How attention differs from the usual.
struct AttentionRules {
  std::optional<double> scale = {};  // of the products of queries and keys; default: 1 / sqrt(size)
  double softcap = 0;                // they are bounded by softcap * tanh(. / softcap); 0: not
  std::int64_t window = 0;           // a position sees itself and this many less one before it; 0: all
};

// Every position attends to itself and those before it, with LibTorch's fused attention. With a cache, the
// keys and values of earlier calls come first, and those of this call are added to it. If there are fewer
// heads of keys than of queries, several heads of queries share one (grouped-query attention).
torch::Tensor attend_causally(const torch::Tensor& query, torch::Tensor key, torch::Tensor value,
                              double dropout, KvCache* cache, std::size_t layer,
                              const AttentionRules& rules = {});

}  // namespace runner
