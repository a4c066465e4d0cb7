#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <memory>
#include <vector>

namespace runner {

// The blocks of residual networks (He et al. 2015, https://arxiv.org/abs/1512.03385), with the names
// torchvision gives them: conv1, bn1, conv2, bn2 [, conv3, bn3] [, downsample.0, downsample.1].

// How the input is added to the output if their shapes differ.
enum class Shortcut {
  projection,  // a 1x1 convolution and a batch normalisation: option B of the paper
  padding      // every second pixel, and channels of zeros: option A, without parameters
};

torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                              bool bias = false);

class ResidualBlock : public torch::nn::Module {
 public:
  torch::Tensor forward(const torch::Tensor& x);

  // Makes the block start as the identity (Goyal et al. 2017).
  void zero_last_norm();

 protected:
  ResidualBlock(std::int64_t in, std::int64_t out, std::int64_t stride, Shortcut shortcut);
  virtual torch::Tensor residual(const torch::Tensor& x) = 0;
  virtual torch::nn::BatchNorm2d last_norm() = 0;
  void register_shortcut();  // after the block's own layers, as in torchvision

 private:
  torch::Tensor shortcut(const torch::Tensor& x);

  std::int64_t in_, out_, stride_;
  Shortcut kind_;
  torch::nn::Conv2d downsample_{nullptr};
  torch::nn::BatchNorm2d downsample_norm_{nullptr};
};

// Two 3x3 convolutions.
class BasicBlock : public ResidualBlock {
 public:
  static constexpr std::int64_t expansion = 1;
  BasicBlock(std::int64_t in, std::int64_t width, std::int64_t stride, Shortcut shortcut);

 private:
  torch::Tensor residual(const torch::Tensor& x) override;
  torch::nn::BatchNorm2d last_norm() override { return bn2; }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
};

// 1x1 down to the width, 3x3 with the stride (as in torchvision), 1x1 up to four times the width.
class Bottleneck : public ResidualBlock {
 public:
  static constexpr std::int64_t expansion = 4;
  Bottleneck(std::int64_t in, std::int64_t width, std::int64_t stride, Shortcut shortcut)
      : Bottleneck(in, width, stride, shortcut, width) {}

 protected:
  Bottleneck(std::int64_t in, std::int64_t width, std::int64_t stride, Shortcut shortcut, std::int64_t inner);

 private:
  torch::Tensor residual(const torch::Tensor& x) override;
  torch::nn::BatchNorm2d last_norm() override { return bn3; }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Conv2d conv3;
  torch::nn::BatchNorm2d bn3;
};

// A bottleneck with a 3x3 convolution twice as wide (Zagoruyko and Komodakis 2016,
// https://arxiv.org/abs/1605.07146).
class WideBottleneck : public Bottleneck {
 public:
  WideBottleneck(std::int64_t in, std::int64_t width, std::int64_t stride, Shortcut shortcut)
      : Bottleneck(in, width, stride, shortcut, 2 * width) {}
};

// Blocks one after the other, called "0", "1" ..; the first one has the stride.
class Stage : public torch::nn::Module {
 public:
  template <class Block>
  static std::shared_ptr<Stage> of(std::int64_t in, std::int64_t width, std::int64_t blocks,
                                   std::int64_t stride, Shortcut shortcut) {
    auto stage = std::make_shared<Stage>();
    for (std::int64_t i = 0; i < blocks; ++i) {
      stage->add(std::make_shared<Block>(i == 0 ? in : width * Block::expansion, width, i == 0 ? stride : 1,
                                         shortcut));
    }
    return stage;
  }

  torch::Tensor forward(torch::Tensor x);
  const std::vector<std::shared_ptr<ResidualBlock>>& blocks() const { return blocks_; }

 private:
  void add(std::shared_ptr<ResidualBlock> block);

  std::vector<std::shared_ptr<ResidualBlock>> blocks_;
};

}  // namespace runner
