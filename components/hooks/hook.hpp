#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "components/batch.hpp"
#include "components/datasets/data_spec.hpp"
#include "components/hooks/progress.hpp"
#include "components/hooks/requests.hpp"
#include "components/state.hpp"
#include "registry/component.hpp"

namespace runner {

class Model;

// Weights that a hook keeps beside those that are trained. The loop puts them into the model for a while,
// measures them as "<name>/accuracy" .. with every evaluation, and saves them as <name>.safetensors.
struct OtherWeights {
  std::string name;
  std::map<std::string, torch::Tensor> tensors = {};  // parameters and buffers by name; empty: none yet
  std::int64_t statistics_batches = 0;  // training batches that batch-norm statistics are computed from anew
};

// Watches a run. It sees progress, weights and measurements as they are and changes nothing itself: it asks.
class Hook {
 public:
  virtual ~Hook() = default;

  // Before the first step; the folder is the run's, for files of its own.
  virtual void start(const Progress&, const std::filesystem::path& /*folder*/, Requests&) {}
  // Asks for before_update in the step that follows, which costs reading the loss.
  virtual bool wants_gradients(const Progress&) const { return false; }
  virtual void before_update(const Progress&, double /*loss*/, double /*gradient_norm*/, Requests&) {}
  virtual void after_step(const Progress&, Requests&) {}
  virtual void after_eval_batch(const Batch&, const torch::Tensor& /*output*/) {}
  virtual void after_eval(const Progress&, const Measurements&, Requests&) {}
  virtual void finish(const Progress&, Requests&) {}  // after the last step

  virtual const OtherWeights* other_weights() const { return nullptr; }  // of one name from the beginning

  virtual State save() const { return {}; }
  virtual void load(const State&) {}
};

struct HookInputs {
  std::int64_t parameters = 0;  // of the model
  double flops_per_sample = 0;  // forward and backward; 0: unknown
  std::vector<std::string>
      metrics;  // what after_eval will report: "eval/accuracy" .., and what other weights
                // of the hooks before this one are measured as: "ema/accuracy" ..
  torch::Device device = torch::kCPU;
  torch::ScalarType compute_type = torch::kFloat;  // of the model's matrix multiplications
  // The precision itself leaves out updates whose gradients are not finite, as fp16 does while it looks for
  // its scale.
  bool precision_skips = false;
  const Model* model = nullptr;  // to look at: there in every run
  DataSpec data = {};
};

struct HookKind {
  static constexpr std::string_view name = "hook";
  static constexpr std::string_view summary =
      "Watches the run; may ask it to stop, to skip an update or to note something.";
  using Product = Hook;
  using Inputs = HookInputs;
};

}  // namespace runner
