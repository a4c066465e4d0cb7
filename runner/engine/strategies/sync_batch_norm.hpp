#pragma once

#include "components/torch/operator_mode.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Batch norm over the batches of all ranks. While it is active, every batch_norm operator in training, in C++
// or TorchScript modules, computes its statistics over all ranks, in backward too. All ranks must call the
// same number of them in the same order.
class SyncBatchNorm final : public OperatorMode {
 public:
  explicit SyncBatchNorm(World& world) : world_(world) {}

  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

  // False while a rank without examples runs on stand-in data, which must not count.
  void set_counting(bool counting) { counting_ = counting; }

 private:
  torch::Tensor normalised(const torch::Tensor& input, const std::optional<torch::Tensor>& weight,
                           const std::optional<torch::Tensor>& bias,
                           const std::optional<torch::Tensor>& running_mean,
                           const std::optional<torch::Tensor>& running_variance, double momentum,
                           double epsilon);

  World& world_;
  bool counting_ = true;
};

}  // namespace runner
