#pragma once

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/custom_class.h>

#include <memory>
#include <string>
#include <vector>

#include "components/precisions/amax_history.hpp"
#include "components/precisions/autocast.hpp"

namespace runner {

// A linear layer whose matrix products run in 8 bits: e4m3 for inputs and weights, e5m2 for gradients.
struct Fp8Layer : torch::CustomClassHolder {
  Fp8Layer(std::string name_, torch::Tensor weight_, std::int64_t history, double margin)
      : name(std::move(name_)),
        weight(std::move(weight_)),
        input_history(history, margin, weight.device()),
        weight_history(history, margin, weight.device()),
        gradient_history(history, margin, weight.device()) {}

  std::string name;
  torch::Tensor weight;
  AmaxHistory input_history, weight_history, gradient_history;
};

using Fp8Layers = std::vector<c10::intrusive_ptr<Fp8Layer>>;

// The layers of the scope that this thread is in; null outside of a scope.
const Fp8Layers* active_fp8_layers();

// While it lives, linear layers of this thread whose weight is among `layers` run in fp8, wherever they are
// called from: C++ modules and TorchScript alike. Everything else runs under bf16 autocast.
class Fp8Scope final : public AutocastScope {
 public:
  Fp8Scope(torch::DeviceType device, const Fp8Layers& layers);
  ~Fp8Scope() override;

 private:
  const Fp8Layers* before_;
  c10::impl::IncludeDispatchKeyGuard intercept_;
  // TorchScript would otherwise cast weights before the operators see them, and compute gradients itself.
  torch::jit::GraphOptimizerEnabledGuard script_as_written_{false};
};

}  // namespace runner
