#pragma once

#include <cstdint>
#include <limits>

#include "components/torch/operator_mode.hpp"

namespace runner {

// While active, new tensors are created on LibTorch's meta device: they have shapes and types, but no values
// and no memory. Models of any size can be built, and most can be run, to see how much they would need.
class MetaMode final : public OperatorMode {
 public:
  // The limit for building a model from a recipe: its modules do take memory.
  static constexpr std::int64_t most_of_a_model = 100'000;

  explicit MetaMode(std::int64_t most_tensors = std::numeric_limits<std::int64_t>::max())
      : most_(most_tensors) {}

  // Throws std::runtime_error if more than `most_tensors` are created.
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

 private:
  std::int64_t most_, made_ = 0;
};

}  // namespace runner
