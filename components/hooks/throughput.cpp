// perf/examples_per_second: training examples per second, without evaluations.
// perf/model_flops: floating-point operations per second that the model needs for them, forward and backward,
// counted from its layers; recomputation and data movement do not count. perf/flops_share: the same, relative
// to the speed of a large matrix multiplication on every rank, which is measured when the run starts (in
// about half a second, on the device, threads and number format of the run).

#include "components/hooks/hook.hpp"
#include "components/hooks/matmul_peak.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

struct Throughput {
  std::int64_t every = 50;
};
constexpr auto describe(std::type_identity<Throughput>) {
  return fields(
      field("every", &Throughput::every, "Steps over which the speed is averaged.", at_least(1), harmless()));
}

class ThroughputHook : public Hook {
 public:
  // `peak`: of all ranks together.
  ThroughputHook(std::int64_t every, double flops_per_example, double peak)
      : every_(every), flops_per_example_(flops_per_example), peak_(peak) {}

  void after_step(const Progress& progress, Requests& requests) override {
    if (!began_) {  // the first step is skipped: it starts threads and warms up caches and kernels
      began_ = progress;
      steps_ = 0;
      return;
    }
    const double seconds = progress.seconds - began_->seconds;
    if (++steps_ < every_ || seconds <= 0) return;
    const double rate = static_cast<double>(progress.examples - began_->examples) / seconds;
    requests.log("perf/examples_per_second", rate);
    if (flops_per_example_ > 0) {
      requests.log("perf/model_flops", rate * flops_per_example_);
      requests.log("perf/flops_share", rate * flops_per_example_ / peak_);
    }
    began_ = progress;
    steps_ = 0;
  }

  void after_eval(const Progress&, const Measurements&, Requests&) override { began_.reset(); }

  State save() const override {
    State state{.integers = {{"steps", steps_}}};
    if (began_) {
      state.integers["began.examples"] = began_->examples;
      state.numbers["began.seconds"] = began_->seconds;
    }
    return state;
  }
  void load(const State& state) override {
    StateReader saved(state);
    steps_ = saved.integer("steps");
    began_.reset();
    if (const auto examples = saved.find_integer("began.examples")) {
      began_.emplace();
      began_->examples = *examples;
      began_->seconds = saved.number("began.seconds");
    }
    saved.finish();
  }

 private:
  std::int64_t every_;
  double flops_per_example_;
  double peak_;
  std::optional<Progress> began_;  // start of the current measurement
  std::int64_t steps_ = 0;
};

HookFacts facts(const Throughput&) { return {.saves_models = false}; }

std::unique_ptr<Hook> build(const Throughput& settings, const HookInputs& inputs) {
  double peak = 0;
  if (inputs.flops_per_example > 0) {
    peak = measure_matmul_peak(inputs.device, inputs.compute_type);
    log::info("matrix multiplication reaches {} GFLOP/s here ({}, {})", std::llround(peak / 1e9),
              inputs.device.str(), c10::toString(inputs.compute_type));
  } else {
    log::warning("throughput: the FLOPs of this model are unknown, so only examples per second are logged");
  }
  return std::make_unique<ThroughputHook>(settings.every, inputs.flops_per_example,
                                          peak * static_cast<double>(inputs.ranks));
}

const Registration<HookKind> registration{
    "throughput",
    "Logs examples per second, model FLOPs and their share of the measured matrix-multiply peak.", &build};

}  // namespace
}  // namespace runner
