#include "components/layers/tanh_gelu.hpp"

#include <ATen/ops/gelu.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

// Dense around zero, and out to where the exponential over- and underflows.
torch::Tensor numbers() {
  return torch::cat({torch::linspace(-6, 6, 100001), torch::linspace(-200, 200, 5001),
                     torch::tensor({0.0F, -0.0F, 1e-30F, -1e-30F, 1e6F, -1e6F})});
}

// LibTorch's own, in twice the precision.
torch::Tensor exact(const torch::Tensor& x) { return at::gelu(x.to(torch::kFloat64), "tanh"); }

double largest_difference(const torch::Tensor& ours, const torch::Tensor& theirs) {
  const auto difference = (ours.to(torch::kFloat64) - theirs).abs() / theirs.abs().clamp_min(1.0);
  return difference.max().item<double>();
}

torch::Tensor slope(const torch::Tensor& y, const torch::Tensor& x, bool again = false) {
  return torch::autograd::grad({y.sum()}, {x}, {}, again, again)[0];
}

}  // namespace

TEST_CASE("tanh_gelu: the function of LibTorch, to the precision of fp32") {
  const auto x = numbers();
  CHECK(largest_difference(tanh_gelu(x), exact(x)) < 3e-7);
}

TEST_CASE("tanh_gelu: its gradient is LibTorch's") {
  const auto x = numbers().requires_grad_(true);
  const auto same = x.detach().to(torch::kFloat64).requires_grad_(true);
  CHECK(largest_difference(slope(tanh_gelu(x), x), slope(exact(same), same)) < 1e-6);
}

TEST_CASE("tanh_gelu: a gradient can be differentiated once more") {
  const auto x = torch::linspace(-3, 3, 50).requires_grad_(true);
  const auto same = x.detach().to(torch::kFloat64).requires_grad_(true);
  const auto ours = slope(slope(tanh_gelu(x), x, true).square(), x);
  CHECK(largest_difference(ours, slope(slope(exact(same), same, true).square(), same)) < 1e-5);
}

TEST_CASE("tanh_gelu: any layout, and what is not a number stays none") {
  const auto x = torch::randn({6, 8, 10}).transpose(0, 2).slice(1, 0, 8, 3);
  CHECK(torch::equal(tanh_gelu(x), tanh_gelu(x.contiguous())));
  const auto strange =
      torch::tensor({std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                     -std::numeric_limits<float>::infinity()});
  CHECK(torch::equal(tanh_gelu(strange).isfinite(), at::gelu(strange, "tanh").isfinite()));
}

TEST_CASE("tanh_gelu: other precisions are LibTorch's own") {
  for (const auto type : {torch::kFloat64, torch::kBFloat16}) {
    const auto x = torch::randn({100}).to(type);
    CHECK(torch::equal(tanh_gelu(x), at::gelu(x, "tanh")));
  }
}
