// Every update moves the average a little towards the weights:
//   average = decay * average + (1 - decay) * weights
// It covers about the last 1 / (1 - decay) updates, and is less noisy than the weights of the last one.
#include "components/hooks/hook.hpp"
#include "components/hooks/weight_average.hpp"

namespace runner {
namespace {

struct Ema {
  double decay = 0.999;
  bool warmup = true;
};
constexpr auto describe(std::type_identity<Ema>) {
  return fields(
      field("decay", &Ema::decay, "Decay of the moving average per update.", at_least(0), below(1)),
      field("warmup", &Ema::warmup,
            "A lower decay at first, (1 + n) / (10 + n) after n updates, so that the first weights are soon "
            "forgotten."));
}

class EmaHook : public Hook {
 public:
  EmaHook(const Ema& settings, const Weights& weights)
      : settings_(settings),
        average_(weights, WeightAverage::Buffers::included),
        weights_{"ema", average_.tensors()} {}

  void start(const Progress& progress, const std::filesystem::path&, Requests&) override {
    last_step_ = progress.step;
  }

  void after_step(const Progress& progress, Requests&) override {
    if (progress.step == last_step_) return;  // the update was skipped
    last_step_ = progress.step;
    ++updates_;
    const double n = static_cast<double>(updates_);
    const double decay = settings_.warmup ? std::min(settings_.decay, (1 + n) / (10 + n)) : settings_.decay;
    average_.approach(1 - decay);
  }

  const KeptWeights* kept_weights() const override { return &weights_; }

  State save() const override {
    return {.integers = {{"updates", updates_}}, .parts = {{"average", {.tensors = average_.tensors()}}}};
  }
  void load(const State& state) override {
    StateReader saved(state);
    average_.load(saved.part("average"));
    updates_ = saved.integer("updates");
    saved.finish();
  }

 private:
  Ema settings_;
  WeightAverage average_;
  KeptWeights weights_;  // the tensors of the average
  std::int64_t updates_ = 0;
  std::int64_t last_step_ = 0;
};

HookFacts facts(const Ema&) { return {.keeps_weights = "ema", .saves_models = false}; }

std::unique_ptr<Hook> build(const Ema& settings, const HookInputs& inputs) {
  return std::make_unique<EmaHook>(settings, *inputs.weights);
}

const Registration<HookKind> registration{
    "ema", "Keeps a moving average of the weights: evaluated as ema/.., saved as ema.safetensors.", &build};

}  // namespace
}  // namespace runner
