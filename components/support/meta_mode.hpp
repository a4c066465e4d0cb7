#pragma once

#include "components/support/operator_mode.hpp"

namespace runner {

// While active, new tensors are made on LibTorch's meta device: they have shapes and types, but no numbers
// and no memory. Models of any size can be built, and most of them run, to see what they would take.
class MetaMode final : public OperatorMode {
 public:
  // Throws std::runtime_error where more tensors are made than any model has: its modules do take memory.
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

 private:
  std::int64_t made_ = 0;
};

}  // namespace runner
