#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/contract/measured.hpp"
#include "components/contract/model_states.hpp"
#include "components/contract/progress.hpp"
#include "components/contract/requests.hpp"
#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"
#include "registry/component.hpp"

namespace runner {

// Observes a run: progress, weights and measurements. It changes nothing itself; it makes requests to the
// loop.
//   struct StopBelow { double value = 0.1; };
//   constexpr auto describe(std::type_identity<StopBelow>) {
//     return fields(field("value", &StopBelow::value, "Stop once eval/loss is below this."));
//   }
//   class Stop final : public Hook { void after_eval(..) override; .. };  // calls requests.stop("why")
//   std::unique_ptr<Hook> build(const StopBelow& settings, const HookInputs&) {
//     return std::make_unique<Stop>(settings.value);
//   }
//   const Registration<HookKind> registration{"stop_below", "Ends the run at a low loss.", &build};
class Hook : public Stateful {
 public:
  // Before the first step of the run or of a resumed run, after the state is loaded. The hook may write its
  // own files to the run folder.
  virtual void start(const Progress&, const std::filesystem::path& /*folder*/, Requests&) {}
  // Whether to call before_update in the next step, for which the loss has to be read from the device. Must
  // be the same on all ranks.
  virtual bool wants_gradients(const Progress&) const { return false; }
  virtual void before_update(const Progress&, double /*loss*/, double /*gradient_norm*/, Requests&) {}
  virtual void after_step(const Progress&, Requests&) {}
  virtual void after_eval_batch(const Batch&, const torch::Tensor& /*output*/) {}
  virtual void after_eval(const Progress&, const Measurements&, Requests&) {}
  virtual void finish(const Progress&, Requests&) {}  // after the last step

  virtual const KeptWeights* kept_weights() const { return nullptr; }  // their name never changes

  // Called before a checkpoint is written, on the rank that writes it, and before one is loaded, on every
  // rank: to save models in another format, instead of the default files or in addition. Training waits.
  virtual void before_save(ModelStates& /*models*/, const std::filesystem::path& /*folder*/) {}
  virtual void before_load(ModelStates& /*models*/, const std::filesystem::path& /*folder*/) {}
};

struct HookInputs {
  std::int64_t parameters = 0;   // of the model
  double flops_per_example = 0;  // forward and backward; 0: unknown
  std::int64_t ranks = 1;        // that train together; Progress counts the examples of all of them
  // What after_eval will report: "eval/accuracy" .., and for weights that hooks keep, "ema/accuracy" ..
  std::vector<Measured> measured = {};
  torch::Device device = torch::kCPU;
  torch::ScalarType compute_type = torch::kFloat;  // of the model's matrix multiplications
  // The precision skips updates whose gradients are not finite, as fp16 does until it finds its loss scale.
  bool precision_skips = false;
  const Weights* weights = nullptr;  // read-only; set in every run
  DataSpec data = {};
};

struct HookFacts {
  std::string keeps_weights = {};       // their name, if the hook has kept_weights()
  std::optional<Watched> watches = {};  // the metric it decides by
  // False: before_save and before_load do nothing, and a sharded model need not be gathered for them.
  bool saves_models = true;
  // False: save() is always empty, so the hook may be added to a run that is resumed, or removed from it.
  bool keeps_state = true;
  // True: the results are the same without the hook, so it may be added or removed without --force.
  bool only_observes = false;
  // Compares gradients that all ranks have summed: with local_sgd, which sums none, the hook is refused.
  bool needs_summed_gradients = false;
};

struct HookKind {
  static constexpr std::string_view name = "hook";
  static constexpr std::string_view summary =
      "Observes the run; may ask it to stop, to skip an update or to log something.";
  static constexpr KindOnResume on_resume{.part = OnResume::course, .parameters = OnResume::course};
  using Product = Hook;
  using Inputs = HookInputs;
  using Facts = HookFacts;
};

}  // namespace runner
