#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <optional>
#include <string>

namespace runner {

class LinearImpl;

// What sits in a layer and takes part in its output, such as LoRA. Its parameters are registered in the layer
// ("q_proj.lora_A.weight"), whose own names and shapes never change.
class LayerAdapter {
 public:
  virtual ~LayerAdapter() = default;

  // layer.plain(x) is the output without the adapter, layer.is_training() whether to use dropout.
  virtual torch::Tensor forward(const torch::Tensor& x, const LinearImpl& layer) const = 0;
  // The weight, as [out, in] in fp32, with which the layer alone gives the same outputs in evaluation.
  virtual torch::Tensor merged(const LinearImpl& layer) const = 0;
};

struct LinearOptions {
  std::int64_t in = 0, out = 0;
  bool bias = true;
  bool in_out = false;             // the weight is stored as [in, out], as in GPT-2's files
  std::optional<double> std = {};  // normal initialisation and no bias; default: as torch.nn.Linear
};

// A linear layer in which an adapter may sit. Names, shapes and initial numbers are those of torch.nn.Linear.
class LinearImpl : public torch::nn::Module {
 public:
  LinearImpl(std::int64_t in, std::int64_t out, bool with_bias = true)
      : LinearImpl(LinearOptions{.in = in, .out = out, .bias = with_bias}) {}
  explicit LinearImpl(const LinearOptions& options);

  torch::Tensor forward(const torch::Tensor& x) const {
    return adapter_ ? adapter_->forward(x, *this) : plain(x);
  }
  torch::Tensor plain(const torch::Tensor& x) const { return with_weight(x, weight); }
  // The same with another weight, stored in the same layout.
  torch::Tensor with_weight(const torch::Tensor& x, const torch::Tensor& other) const;

  std::int64_t in_features() const { return weight.size(in_out_ ? 0 : 1); }
  std::int64_t out_features() const { return weight.size(in_out_ ? 1 : 0); }
  bool in_out() const { return in_out_; }
  torch::Tensor out_in() const { return in_out_ ? weight.t() : weight; }  // a view

  void adapt(std::shared_ptr<LayerAdapter> adapter) { adapter_ = std::move(adapter); }
  const LayerAdapter* adapter() const { return adapter_.get(); }

  torch::Tensor weight, bias;

 private:
  bool in_out_;
  std::shared_ptr<LayerAdapter> adapter_;
};
TORCH_MODULE(Linear);

}  // namespace runner
