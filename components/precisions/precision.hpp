#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "components/contract/precision_scope.hpp"
#include "components/contract/state.hpp"
#include "registry/component.hpp"

namespace runner {

// How numbers are represented while training. The engine calls the functions in this order.
//   struct Scaled { double scale = 1024; };
//   constexpr auto describe(std::type_identity<Scaled>) {
//     return fields(field("scale", &Scaled::scale, "Factor of the loss.", above(0)));
//   }
//   class ScaledLoss final : public Precision { .. };  // scale(), unscale(), summary()
//   std::unique_ptr<Precision> build(const Scaled& settings, const PrecisionInputs&) {
//     return std::make_unique<ScaledLoss>(settings.scale);
//   }
//   const Registration<PrecisionKind> registration{"scaled", "fp32 with a constant loss scale.", &build};
class Precision : public Stateful {
 public:
  using Scope = PrecisionScope;

  // Called again with all modules if further modules are to be trained.
  virtual void prepare(torch::nn::Module& /*model*/) {}
  virtual std::unique_ptr<Scope> forward() { return std::make_unique<Scope>(); }
  // The gradient that the backward pass starts with, scaled if the precision needs it.
  virtual torch::Tensor scale(const torch::Tensor& gradient) { return gradient; }
  // Undoes scale() in the gradients; false: some are not finite, and this update has to be skipped.
  virtual bool unscale(const std::vector<torch::Tensor>& /*gradients*/) { return true; }

  virtual std::vector<std::pair<std::string, double>> report() const { return {}; }  // to log: "loss_scale"
  virtual std::string summary() const = 0;  // one line for people, after prepare()

  virtual torch::ScalarType compute_type() const { return torch::kFloat; }  // of matrix multiplications
  virtual bool skips_updates() const { return false; }  // unscale() may return false in normal operation
};

struct PrecisionInputs {
  torch::Device device = torch::kCPU;
};

struct PrecisionFacts {
  // The type that forward() casts the weights of linear layers and convolutions to, by LibTorch's autocast;
  // none: layers read the weights themselves.
  std::optional<torch::ScalarType> weights_cast_to = {};
  // Passes also depend on numbers kept by the host, so that a recorded pass (CUDA graph) cannot be replayed.
  bool has_host_state = false;
};

struct PrecisionKind {
  static constexpr std::string_view name = "precision";
  static constexpr std::string_view summary = "The number format of the forward and backward pass.";
  static constexpr KindOnResume on_resume{.part = OnResume::course, .parameters = OnResume::course};
  using Product = Precision;
  using Inputs = PrecisionInputs;
  using Facts = PrecisionFacts;
};

}  // namespace runner
