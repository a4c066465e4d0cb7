// Stochastic weight averaging: the plain mean of the weights at chosen moments late in the run. It works best
// with a learning rate that stays high. The batch-norm statistics of the trained weights do not fit the mean,
// so they are recomputed from training batches whenever the mean is used.
#include "components/contract/interval.hpp"
#include "components/hooks/hook.hpp"
#include "components/hooks/weight_average.hpp"

namespace runner {
namespace {

struct Swa {
  Duration from = share_of_run(0.75);
  Duration every = epochs(1);
  std::int64_t statistics_batches = 100;
};
constexpr auto describe(std::type_identity<Swa>) {
  return fields(field("from", &Swa::from, "When averaging starts.", at_least(0)),
                field("every", &Swa::every, "How often the weights are added to the mean.", above(0)),
                field("statistics_batches", &Swa::statistics_batches,
                      "Training batches that batch-norm statistics are computed from.", at_least(1)));
}

class SwaHook : public Hook {
 public:
  SwaHook(const Swa& settings, const Weights& weights)
      : settings_(settings),
        interval_(settings.every),
        average_(weights, WeightAverage::Buffers::left_out),
        weights_{"swa", {}, settings.statistics_batches} {}

  void start(const Progress& progress, const std::filesystem::path&, Requests&) override {
    before_ = progress;
  }

  void after_step(const Progress& progress, Requests&) override {
    const Progress before = std::exchange(before_, progress);
    // Also after a skipped update: the end of an epoch would otherwise pass without the weights of that
    // moment.
    if (!reached(settings_.from, progress) || !interval_.passed(before, progress)) return;
    average_.approach(1 / static_cast<double>(++models_));
    weights_.tensors = average_.tensors();
  }

  const KeptWeights* kept_weights() const override { return &weights_; }

  State save() const override {
    State state{.integers = {{"models", models_}}};
    if (models_ > 0) state.parts["average"] = {.tensors = average_.tensors()};
    return state;
  }
  void load(const State& state) override {
    StateReader saved(state);
    models_ = saved.integer("models");
    weights_.tensors.clear();
    if (models_ > 0) {
      average_.load(saved.part("average"));
      weights_.tensors = average_.tensors();
    }
    saved.finish();
  }

 private:
  Swa settings_;
  Interval interval_;
  WeightAverage average_;
  KeptWeights weights_;  // empty until averaging starts
  std::int64_t models_ = 0;
  Progress before_;
};

HookFacts facts(const Swa&) { return {.keeps_weights = "swa", .saves_models = false}; }

std::unique_ptr<Hook> build(const Swa& settings, const HookInputs& inputs) {
  return std::make_unique<SwaHook>(settings, *inputs.weights);
}

const Registration<HookKind> registration{
    "swa", "Stochastic weight averaging: evaluated as swa/.., saved as swa.safetensors.", &build};

}  // namespace
}  // namespace runner
