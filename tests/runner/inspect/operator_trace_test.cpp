#include "runner/inspect/operator_trace.hpp"

#include <torch/nn.h>

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

template <class Layer>
double flops_of(Layer& layer, const torch::Tensor& input) {
  const OperatorTrace trace(*layer);
  layer(input);
  return trace.flops();
}

}  // namespace

TEST_CASE("operator trace: a convolution multiplies once per output, a transposed one once per input") {
  const std::int64_t groups = GENERATE(1, 2);
  const torch::Tensor input = torch::zeros({2, 8, 5, 5});
  torch::nn::Conv2d convolution(torch::nn::Conv2dOptions(8, 4, 3).groups(groups));
  const std::int64_t outputs = 2 * 4 * 3 * 3;
  CHECK(flops_of(convolution, input) == static_cast<double>(2 * outputs * (8 / groups) * 3 * 3));
  torch::nn::ConvTranspose2d transposed(torch::nn::ConvTranspose2dOptions(8, 4, 2).stride(2).groups(groups));
  CHECK(flops_of(transposed, input) == static_cast<double>(2 * input.numel() * (4 / groups) * 2 * 2));
}

TEST_CASE("operator trace: an lstm uses all of its weights at every position") {
  const bool both_ways = GENERATE(false, true);
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(4, 8).num_layers(2).bidirectional(both_ways).batch_first(true));
  std::int64_t weights = 0;
  for (const torch::Tensor& parameter : lstm->parameters())
    if (parameter.dim() == 2) weights += parameter.numel();
  CHECK(flops_of(lstm, torch::zeros({3, 5, 4})) == static_cast<double>(2 * 3 * 5 * weights));
}
