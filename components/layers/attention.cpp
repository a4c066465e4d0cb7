#include "components/layers/attention.hpp"

#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>

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

// LibTorch's fused attention has no soft cap.
torch::Tensor attend_softly(const torch::Tensor& query, torch::Tensor key, torch::Tensor value,
                            const std::optional<torch::Tensor>& mask, double dropout,
                            const AttentionRules& rules) {
  const std::int64_t shared = query.size(1) / key.size(1);
  if (shared > 1) {
    key = key.repeat_interleave(shared, 1);
    value = value.repeat_interleave(shared, 1);
  }
  const double scale = rules.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  torch::Tensor products = torch::matmul(query, key.transpose(-2, -1)) * scale;
  products = torch::tanh(products / rules.softcap) * rules.softcap;
  if (mask) products = products.masked_fill(mask->logical_not(), -std::numeric_limits<double>::infinity());
  const torch::Tensor shares = torch::softmax(products, -1, torch::kFloat).to(query.scalar_type());
  return torch::matmul(torch::dropout(shares, dropout, /*train=*/dropout > 0), value);
}

}  // namespace

torch::Tensor split_heads(const torch::Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

torch::Tensor join_heads(const torch::Tensor& x) { return x.transpose(1, 2).flatten(2); }

torch::Tensor attend_causally(const torch::Tensor& query, torch::Tensor key, torch::Tensor value,
                              double dropout, KvCache* cache, std::size_t layer,
                              const AttentionRules& rules) {
  const std::int64_t count = query.size(2), before = cache ? cache->length : 0;
  if (cache) {
    if (cache->layers.size() <= layer) cache->layers.resize(layer + 1);
    auto& [keys, values] = cache->layers[layer];
    key = extended(keys, key, before);
    value = extended(values, value, before);
  }
  const std::int64_t total = before + count;
  const bool windowed = rules.window > 0 && total > rules.window;
  std::optional<torch::Tensor> mask;  // is_causal assumes that the first query belongs to the first key
  if (windowed || (count > 1 && (before > 0 || rules.softcap > 0))) {
    mask = torch::ones({count, total}, query.options().dtype(torch::kBool)).tril(before);
    if (windowed) mask = mask->triu(before - rules.window + 1);
  }
  if (rules.softcap > 0) return attend_softly(query, key, value, mask, dropout, rules);
  return at::scaled_dot_product_attention(query, key, value, mask, dropout,
                                          /*is_causal=*/count > 1 && !mask, rules.scale,
                                          /*enable_gqa=*/key.size(1) != query.size(1));
}

}  // namespace runner
