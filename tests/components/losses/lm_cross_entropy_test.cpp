#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/metrics/metric.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
namespace F = torch::nn::functional;

constexpr std::int64_t vocabulary = 11;

std::unique_ptr<Loss> loss(const Settings& settings = {}) {
  return part<LossKind>("lm_cross_entropy", settings).build({{.vocabulary = vocabulary}});
}

torch::Tensor scores() { return 3 * wave({4, 5, vocabulary}, 0.3); }
torch::Tensor tokens() {
  torch::Tensor ids = torch::arange(20).remainder(vocabulary).reshape({4, 5});
  ids[0].slice(0, 2).fill_(-100);  // sequences of different lengths
  ids[3].slice(0, 1).fill_(-100);
  return ids;
}
Batch batch_of(const torch::Tensor& target) { return {torch::zeros({target.size(0), 1}), target}; }

TEST_CASE("the mean over all tokens is PyTorch's", "[losses]") {
  for (const double smoothing : {0.0, 0.1}) {
    const auto ours = loss({{"label_smoothing", smoothing}});
    const Batch batch = batch_of(tokens());
    const auto options = F::CrossEntropyFuncOptions().label_smoothing(smoothing);
    const double expected =
        F::cross_entropy(scores().reshape({20, vocabulary}), tokens().flatten(), options).item<double>();
    REQUIRE(ours->weight(batch) == 13);
    REQUIRE_THAT(ours->sum(scores(), batch).item<double>() / 13, WithinRel(expected, 1e-6));
  }
}

TEST_CASE("gradients reach outputs of 16 bits", "[losses]") {
  const torch::Tensor output = scores().to(torch::kBFloat16).requires_grad_();
  const torch::Tensor sum = loss()->sum(output, batch_of(tokens()));
  REQUIRE(sum.scalar_type() == torch::kFloat32);
  sum.backward();
  REQUIRE(output.grad()[0].slice(0, 2).abs().max().item<double>() == 0);  // ignored
  REQUIRE(output.grad()[0].slice(0, 0, 2).abs().max().item<double>() > 0);
}

TEST_CASE("tokens that do not fit are explained", "[losses]") {
  const torch::Tensor outside = torch::full({4, 5}, vocabulary, torch::kInt64);
  REQUIRE_THROWS_WITH(loss()->weight(batch_of(outside)), ContainsSubstring("label 11"));
  REQUIRE_THROWS_WITH(loss()->sum(scores(), batch_of(outside)), ContainsSubstring("label 11"));
  REQUIRE_THROWS_WITH(loss()->sum(scores(), batch_of(tokens().slice(1, 0, 4))),
                      ContainsSubstring("[4, 5, 11]") && ContainsSubstring("[4, 4]"));
  REQUIRE_THROWS_WITH(loss()->sum(scores()[0], batch_of(tokens()[0])), ContainsSubstring("positions"));
  REQUIRE_THROWS_WITH(loss()->sum(scores(), batch_of(tokens().to(torch::kFloat32))),
                      ContainsSubstring("whole numbers"));
}

TEST_CASE("perplexity weighs tokens, not batches or sequences", "[metrics]") {
  const auto ours = loss();
  const auto perplexity = part<MetricKind>("perplexity").build({.data = {}, .loss = ours.get()});
  const double expected =
      std::exp(F::cross_entropy(scores().reshape({20, vocabulary}), tokens().flatten()).item<double>());
  for (const std::int64_t batch_size : {1, 3, 4}) {
    perplexity->reset();
    for (std::int64_t begin = 0; begin < 4; begin += batch_size) {
      const auto end = std::min<std::int64_t>(begin + batch_size, 4);
      perplexity->update(scores().slice(0, begin, end), batch_of(tokens().slice(0, begin, end)));
    }
    REQUIRE_THAT(perplexity->compute().front().second, WithinRel(expected, 1e-6));
  }
}

}  // namespace
}  // namespace runner::testing
