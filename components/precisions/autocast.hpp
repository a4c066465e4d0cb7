#pragma once

#include <ATen/autocast_mode.h>
#include <torch/types.h>

#include "components/contract/precision_scope.hpp"

namespace runner {

// LibTorch's autocast for one forward pass: each operator runs in the narrow type or in fp32, as suits it.
// Restores the previous settings at the end.
class AutocastScope : public PrecisionScope {
 public:
  AutocastScope(torch::DeviceType device, torch::Dtype type);
  ~AutocastScope() override;
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  torch::DeviceType device_;
  bool enabled_before_;
  torch::Dtype type_before_;
  bool cached_before_;
};

}  // namespace runner
