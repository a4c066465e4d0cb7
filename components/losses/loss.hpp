#pragma once

#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/contract/targets.hpp"
#include "registry/component.hpp"

namespace runner {

// Losses are sums, not means: the loop divides by the true weight of the whole accumulation window, over all
// ranks, so that a short last batch is weighted correctly.
//   struct Tempered { double temperature = 1; };
//   constexpr auto describe(std::type_identity<Tempered>) {
//     return fields(field("temperature", &Tempered::temperature, "Divisor of the logits.", above(0)));
//   }
//   class TemperedLoss final : public Loss { torch::Tensor sum(..) const override; .. };
//   std::unique_ptr<Loss> build(const Tempered& settings, const LossInputs&) {
//     return std::make_unique<TemperedLoss>(settings.temperature);
//   }
//   const Registration<LossKind> registration{"tempered", "Cross-entropy with a temperature.", &build};
class Loss {
 public:
  virtual ~Loss() = default;

  virtual torch::Tensor sum(const torch::Tensor& output,
                            const Batch& batch) const = 0;  // a scalar, with gradient
  // What the sum is divided by to give the mean: examples, or tokens, or their class weights. Reads only the
  // targets.
  virtual double weight(const Batch& batch) const { return static_cast<double>(batch.size()); }
};

struct LossInputs {
  DataSpec data;
  std::vector<std::int64_t> class_counts = {};  // in the training set; empty: unknown
};

struct LossFacts {
  std::vector<Targets> targets = {};  // what it supports; empty: it does not use targets
  bool needs_class_counts = false;
  std::int64_t ignore_index = -100;  // targets with this label are ignored
};

struct LossKind {
  static constexpr std::string_view name = "loss";
  static constexpr std::string_view summary = "The objective that training minimises.";
  static constexpr KindOnResume on_resume{.part = OnResume::course, .parameters = OnResume::course};
  using Product = Loss;
  using Inputs = LossInputs;
  using Facts = LossFacts;
};

}  // namespace runner
