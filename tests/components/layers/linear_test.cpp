#include "components/layers/linear.hpp"

#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <catch2/catch_all.hpp>

namespace runner {
namespace {

TEST_CASE("linear: names and numbers are LibTorch's, bit for bit", "[layers]") {
  for (const bool bias : {true, false}) {
    torch::manual_seed(3);
    torch::nn::Linear theirs(torch::nn::LinearOptions(5, 7).bias(bias));
    const torch::Tensor next = torch::rand({1});
    torch::manual_seed(3);
    Linear ours(5, 7, bias);
    CHECK(torch::equal(torch::rand({1}), next));  // as many random numbers were drawn
    const auto expected = theirs->named_parameters(), found = ours->named_parameters();
    REQUIRE(found.keys() == expected.keys());
    for (const auto& item : expected) CHECK(torch::equal(found[item.key()], item.value()));
    const auto x = torch::rand({2, 3, 5});
    CHECK(torch::equal(ours(x), theirs(x)));
  }
}

TEST_CASE("linear: a weight stored as [in, out] is the same layer", "[layers]") {
  const Linear stored(LinearOptions{.in = 5, .out = 7, .in_out = true, .std = 0.1});
  CHECK(stored->weight.sizes() == torch::IntArrayRef{5, 7});
  CHECK(stored->in_features() == 5);
  CHECK(stored->out_features() == 7);
  const auto x = torch::rand({2, 3, 5});
  CHECK(torch::allclose(stored->forward(x), torch::linear(x, stored->weight.t(), stored->bias)));
  const Linear without(LinearOptions{.in = 5, .out = 7, .bias = false, .in_out = true});
  CHECK(torch::allclose(without->forward(x), torch::linear(x, without->weight.t())));
}

class Doubled final : public LayerAdapter {
 public:
  torch::Tensor forward(const torch::Tensor& x, const LinearImpl& layer) const override {
    return 2 * layer.plain(x);
  }
  torch::Tensor merged(const LinearImpl& layer) const override { return 2 * layer.out_in(); }
};

TEST_CASE("linear: an adapter takes part in the output and leaves names and shapes", "[layers]") {
  Linear layer(5, 7, /*with_bias=*/false);
  const auto x = torch::rand({3, 5});
  const torch::Tensor plain = layer(x);
  const auto names = layer->named_parameters().keys();
  layer->adapt(std::make_shared<Doubled>());
  CHECK(torch::equal(layer(x), 2 * plain));
  CHECK(torch::allclose(layer->with_weight(x, layer->adapter()->merged(*layer)), layer(x)));
  CHECK(layer->named_parameters().keys() == names);
}

}  // namespace
}  // namespace runner
