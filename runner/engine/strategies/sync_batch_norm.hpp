#pragma once

#include <memory>

#include "components/torch/operator_mode.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Batch norm over the batches of all ranks. While it is active, every batch_norm operator in training, in C++
// or TorchScript modules, computes its statistics over all ranks, in backward too. All ranks must call the
// same number of them in the same order.
class SyncBatchNorm final : public OperatorMode {
 public:
  explicit SyncBatchNorm(World& world);

  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

  // False while a rank without examples runs on stand-in data, which must not count.
  void set_counting(bool counting) { counting_ = counting; }

 private:
  torch::Tensor normalised(const torch::Tensor& input, const std::optional<torch::Tensor>& weight,
                           const std::optional<torch::Tensor>& bias,
                           const std::optional<torch::Tensor>& running_mean,
                           const std::optional<torch::Tensor>& running_variance, double momentum,
                           double epsilon);

  // All ranks, as a group of its own: during backward, buckets of gradients are sent as well, and a rank that
  // does not use a parameter sends its bucket later than the others.
  const std::unique_ptr<World> world_;
  bool counting_ = true;
};

}  // namespace runner
