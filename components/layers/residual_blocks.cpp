#include "components/layers/residual_blocks.hpp"

#include <torch/nn/functional/padding.h>

namespace runner {

torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                              bool bias) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(bias));
}

namespace {

// A convolution and its normalisation as one child, numbered as in nn.Sequential.
struct Projection : torch::nn::Module {
  Projection(const torch::nn::Conv2d& convolution, const torch::nn::BatchNorm2d& norm) {
    register_module("0", convolution);
    register_module("1", norm);
  }
};

}  // namespace

ResidualBlock::ResidualBlock(std::int64_t in, std::int64_t out, std::int64_t stride, Shortcut shortcut)
    : in_(in), out_(out), stride_(stride), kind_(shortcut) {}

void ResidualBlock::register_shortcut() {
  if ((stride_ == 1 && in_ == out_) || kind_ == Shortcut::padding) return;
  downsample_ = convolution(in_, out_, 1, stride_);
  downsample_norm_ = torch::nn::BatchNorm2d(out_);
  register_module("downsample", std::make_shared<Projection>(downsample_, downsample_norm_));
}

torch::Tensor ResidualBlock::shortcut(const torch::Tensor& x) {
  if (downsample_) return downsample_norm_(downsample_(x));
  if (stride_ == 1 && in_ == out_) return x;
  using torch::indexing::Slice;
  const auto fewer = x.index(
      {Slice(), Slice(), Slice(0, torch::indexing::None, stride_), Slice(0, torch::indexing::None, stride_)});
  const std::int64_t before = (out_ - in_) / 2;
  return torch::constant_pad_nd(fewer, {0, 0, 0, 0, before, out_ - in_ - before});
}

torch::Tensor ResidualBlock::forward(const torch::Tensor& x) { return residual(x).add_(shortcut(x)).relu_(); }

void ResidualBlock::zero_last_norm() { torch::nn::init::zeros_(last_norm()->weight); }

BasicBlock::BasicBlock(std::int64_t in, std::int64_t width, std::int64_t stride, Shortcut shortcut)
    : ResidualBlock(in, width, stride, shortcut),
      conv1(register_module("conv1", convolution(in, width, 3, stride))),
      bn1(register_module("bn1", torch::nn::BatchNorm2d(width))),
      conv2(register_module("conv2", convolution(width, width, 3, 1))),
      bn2(register_module("bn2", torch::nn::BatchNorm2d(width))) {
  register_shortcut();
}

torch::Tensor BasicBlock::residual(const torch::Tensor& x) { return bn2(conv2(bn1(conv1(x)).relu_())); }

Bottleneck::Bottleneck(std::int64_t in, std::int64_t width, std::int64_t stride, Shortcut shortcut,
                       std::int64_t inner)
    : ResidualBlock(in, width * expansion, stride, shortcut),
      conv1(register_module("conv1", convolution(in, inner, 1, 1))),
      bn1(register_module("bn1", torch::nn::BatchNorm2d(inner))),
      conv2(register_module("conv2", convolution(inner, inner, 3, stride))),
      bn2(register_module("bn2", torch::nn::BatchNorm2d(inner))),
      conv3(register_module("conv3", convolution(inner, width * expansion, 1, 1))),
      bn3(register_module("bn3", torch::nn::BatchNorm2d(width * expansion))) {
  register_shortcut();
}

torch::Tensor Bottleneck::residual(const torch::Tensor& x) {
  return bn3(conv3(bn2(conv2(bn1(conv1(x)).relu_())).relu_()));
}

void Stage::add(std::shared_ptr<ResidualBlock> block) {
  blocks_.push_back(register_module(std::to_string(blocks_.size()), std::move(block)));
}

torch::Tensor Stage::forward(torch::Tensor x) {
  for (const auto& block : blocks_) x = block->forward(x);
  return x;
}

}  // namespace runner
