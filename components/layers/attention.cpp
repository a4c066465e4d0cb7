#include "components/layers/attention.hpp"

#include <ATen/ops/scaled_dot_product_attention.h>

namespace runner {

namespace {

// Appends to the keys (or values) so far and returns all of them. `kept` has room for more, so that appending
// rarely copies the others.
torch::Tensor extended(torch::Tensor& kept, const torch::Tensor& added, std::int64_t length) {
  const std::int64_t needed = length + added.size(2);
  if (!kept.defined() || kept.size(2) < needed) {
    auto shape = added.sizes().vec();
    shape[2] = std::max<std::int64_t>(64, 2 * needed);
    auto larger = torch::empty(shape, added.options());
    if (length > 0) larger.narrow(2, 0, length).copy_(kept.narrow(2, 0, length));
    kept = larger;
  }
  kept.narrow(2, length, added.size(2)).copy_(added);
  return kept.narrow(2, 0, needed);
}

}  // namespace

torch::Tensor split_heads(const torch::Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

torch::Tensor join_heads(const torch::Tensor& x) { return x.transpose(1, 2).flatten(2); }

torch::Tensor attend_causally(const torch::Tensor& query, torch::Tensor key, torch::Tensor value,
                              double dropout, KvCache* cache, std::size_t layer) {
  const std::int64_t count = query.size(2), before = cache ? cache->length : 0;
  if (cache) {
    if (cache->layers.size() <= layer) cache->layers.resize(layer + 1);
    auto& [keys, values] = cache->layers[layer];
    key = extended(keys, key, before);
    value = extended(values, value, before);
  }
  std::optional<torch::Tensor> mask;  // is_causal assumes that the first query belongs to the first key
  if (before > 0 && count > 1) {
    mask = torch::ones({count, before + count}, query.options().dtype(torch::kBool)).tril(before);
  }
  return at::scaled_dot_product_attention(query, key, value, mask, dropout,
                                          /*is_causal=*/count > 1 && !mask, /*scale=*/{},
                                          /*enable_gqa=*/key.size(1) != query.size(1));
}

}  // namespace runner
