#pragma once

#include <torch/types.h>

#include "components/contract/state.hpp"

namespace runner {

// The default random generators of LibTorch, for the CPU and for the device.
class Generators final : public Stateful {
 public:
  explicit Generators(torch::Device device) : device_(device) {}

  State save() const override;
  void load(const State& state) override;

 private:
  torch::Device device_;
};

}  // namespace runner
