#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "components/state.hpp"
#include "registry/component.hpp"

namespace runner {

// How far a run is. Hooks, schedules and intervals read it; only the loop advances it.
struct Progress {
  std::int64_t step = 0;           // optimizer updates done
  std::int64_t epoch = 0;          // whole epochs done
  std::int64_t samples = 0;        // training examples seen in all
  std::int64_t skipped_steps = 0;  // updates left out because a gradient was not finite
  double exact_epoch = 0;          // epochs done, with the fraction
  double seconds = 0;              // of the run
  double share = 0;                // of the run that is done, 0 to 1
  std::int64_t total_steps = 0;    // as planned; 0: unknown, limited by time alone
};

using Measurements = std::vector<std::pair<std::string, double>>;

// What a hook may ask of the loop. It cannot do more.
class Requests {
 public:
  void stop(std::string reason) {  // after this step; the first reason counts
    if (!reason_) reason_ = std::move(reason);
  }
  void skip_update() { skip_ = true; }
  // Goes into the next record of the run; of a name logged twice before that, the later value.
  void log(std::string name, double value) {
    const auto known = std::ranges::find(measurements_, name, [](const auto& pair) { return pair.first; });
    if (known != measurements_.end()) known->second = value;
    if (known == measurements_.end()) measurements_.emplace_back(std::move(name), value);
  }

  const std::optional<std::string>& stop_reason() const { return reason_; }
  bool take_skip() { return std::exchange(skip_, false); }
  Measurements take_measurements() { return std::exchange(measurements_, {}); }

 private:
  std::optional<std::string> reason_;
  bool skip_ = false;
  Measurements measurements_;
};

// Watches a run. It sees progress and measurements as they are and changes nothing itself: it asks.
class Hook {
 public:
  virtual ~Hook() = default;

  // Asks for before_update, which costs reading the loss every step.
  virtual bool wants_gradients() const { return false; }
  virtual void before_update(const Progress&, double /*loss*/, double /*gradient_norm*/, Requests&) {}
  virtual void after_step(const Progress&, Requests&) {}
  virtual void after_eval(const Progress&, const Measurements&, Requests&) {}

  virtual State save() const { return {}; }
  virtual void load(const State&) {}
};

struct HookInputs {
  std::int64_t parameters = 0;       // of the model
  double flops_per_sample = 0;       // forward and backward; 0: unknown
  std::vector<std::string> metrics;  // what after_eval will report: "eval/accuracy" ..
  torch::Device device = torch::kCPU;
  torch::ScalarType compute_type = torch::kFloat;  // of the model's matrix multiplications
  // The precision itself leaves out updates whose gradients are not finite, as fp16 does while it looks for
  // its scale.
  bool precision_skips = false;
};

struct HookKind {
  static constexpr std::string_view name = "hook";
  static constexpr std::string_view summary = "Watches the run; may ask it to stop or to skip an update.";
  using Product = Hook;
  using Inputs = HookInputs;
};

}  // namespace runner
