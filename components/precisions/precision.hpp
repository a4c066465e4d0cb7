#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "components/contract/precision_scope.hpp"
#include "components/contract/state.hpp"
#include "registry/component.hpp"

namespace runner {

// How numbers are represented while training. The engine calls it in the order in which it stands here.
class Precision : public Stateful {
 public:
  using Scope = PrecisionScope;

  // Called again where further modules are to be trained: with all of them.
  virtual void prepare(torch::nn::Module& /*model*/) {}
  virtual std::unique_ptr<Scope> forward() { return std::make_unique<Scope>(); }
  // What the backward pass begins with: the gradient of the loss by itself.
  virtual torch::Tensor scale(const torch::Tensor& gradient) { return gradient; }
  // Undoes scale() in the gradients; false: some are not finite, and this update has to be skipped.
  virtual bool unscale(const std::vector<torch::Tensor>& /*gradients*/) { return true; }

  virtual std::vector<std::pair<std::string, double>> report() const { return {}; }  // to log: "loss_scale"
  virtual std::string summary() const = 0;  // one line for people, once prepared

  virtual torch::ScalarType compute_type() const { return torch::kFloat; }  // of matrix multiplications
  virtual bool skips_updates() const {
    return false;
  }  // unscale() may say false in the ordinary course of a run
};

struct PrecisionInputs {
  torch::Device device = torch::kCPU;
};

struct PrecisionKind {
  static constexpr std::string_view name = "precision";
  static constexpr std::string_view summary = "The number format of the forward and backward pass.";
  static constexpr KindOnResume on_resume{.part = OnResume::fixed, .parameters = OnResume::course};
  using Product = Precision;
  using Inputs = PrecisionInputs;
};

}  // namespace runner
