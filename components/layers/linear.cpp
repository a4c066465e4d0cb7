#include "components/layers/linear.hpp"

#include <torch/nn/functional/linear.h>
#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

namespace runner {

LinearImpl::LinearImpl(const LinearOptions& options) : in_out_(options.in_out) {
  const auto [in, out] = std::pair(options.in, options.out);
  weight = register_parameter("weight", in_out_ ? torch::empty({in, out}) : torch::empty({out, in}));
  if (options.bias) bias = register_parameter("bias", torch::empty({out}));
  const torch::NoGradGuard no_grad;
  if (options.std) {
    torch::nn::init::normal_(weight, 0, *options.std);
    if (bias.defined()) bias.zero_();
    return;
  }
  torch::nn::init::kaiming_uniform_(in_out_ ? weight.t() : weight, std::sqrt(5));
  const double bound = in > 0 ? 1 / std::sqrt(static_cast<double>(in)) : 0;
  if (bias.defined()) torch::nn::init::uniform_(bias, -bound, bound);
}

torch::Tensor LinearImpl::with_weight(const torch::Tensor& x, const torch::Tensor& other) const {
  if (!in_out_) return torch::nn::functional::linear(x, other, bias);  // the operators of torch::nn::Linear
  if (!bias.defined()) return torch::matmul(x, other);
  auto shape = x.sizes().vec();
  shape.back() = other.size(1);
  return torch::addmm(bias, x.reshape({-1, x.size(-1)}), other).view(shape);
}

}  // namespace runner
