#pragma once

#include <cstdint>
#include <limits>

#include "components/support/operator_mode.hpp"

namespace runner {

// While active, new tensors are made on LibTorch's meta device: they have shapes and types, but no numbers
// and no memory. Models of any size can be built, and most of them run, to see what they would take.
class MetaMode final : public OperatorMode {
 public:
  // Where a model is built with one, it may make this many tensors: its modules do take memory.
  static constexpr std::int64_t most_of_a_model = 100'000;

  explicit MetaMode(std::int64_t most_tensors = std::numeric_limits<std::int64_t>::max())
      : most_(most_tensors) {}

  // Throws std::runtime_error where more tensors are made than that.
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

 private:
  std::int64_t most_, made_ = 0;
};

}  // namespace runner
