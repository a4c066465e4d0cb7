// The gradient noise scale: roughly the batch size beyond which larger batches no longer pay off (McCandlish
// et al., An Empirical Model of Large-Batch Training, appendix A.1). Compares the gradients of single updates
// with their mean over several consecutive updates, during which the weights hardly change.
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_norm.h>
#include <torch/utils.h>

#include <cmath>

#include "components/hooks/hook.hpp"

namespace runner {
namespace {

struct GradientNoise {
  std::int64_t every = 100;
  std::int64_t over = 8;
  double smoothing = 0.9;
};
constexpr auto describe(std::type_identity<GradientNoise>) {
  return fields(field("every", &GradientNoise::every, "Steps between two measurements.", at_least(1)),
                field("over", &GradientNoise::over,
                      "Number of consecutive updates whose gradients are compared.", at_least(2)),
                field("smoothing", &GradientNoise::smoothing,
                      "Decay of the running means of noise and signal.", at_least(0), below(1)));
}

void check(const GradientNoise& settings, Report& report) {
  if (settings.every < settings.over) report.error("every", "is less than \"over\"");
}

class GradientNoiseHook : public Hook {
 public:
  GradientNoiseHook(const GradientNoise& settings, const Weights& weights)
      : settings_(settings), weights_(weights) {}

  bool wants_gradients(const Progress&) const override { return calls_ % settings_.every < settings_.over; }

  void before_update(const Progress& progress, double, double, Requests&) override {
    const torch::NoGradGuard no_grad;
    if (seen_ == 0) first_example_ = progress.examples;
    std::vector<torch::Tensor> gradients;
    weights_.visit([&](const std::string&, const torch::Tensor& value, const torch::Tensor& gradient) {
      gradients.push_back(gradient.defined() ? gradient : torch::zeros_like(value));
    });
    squares_ += squared_norm(gradients);
    if (seen_++ == 0) {
      for (torch::Tensor& gradient : gradients) sum_.push_back(gradient.clone());
    } else {
      // A loaded sum is elsewhere and in another layout, in which its norm would be rounded differently.
      for (std::size_t i = 0; loaded_ && i < sum_.size(); ++i)
        sum_[i] = torch::empty_like(gradients[i]).copy_(sum_[i]);
      loaded_ = false;
      at::_foreach_add_(sum_, gradients);
    }
  }

  void after_step(const Progress& progress, Requests& requests) override {
    ++calls_;
    if (seen_ < settings_.over) return;
    // A gradient that is not finite, as while fp16 searches its scale, would stay in the means for good.
    const bool finite = std::isfinite(squares_);
    const double n = static_cast<double>(seen_);
    const double small_batch = static_cast<double>(progress.examples - first_example_) / n;
    if (finite) measure(squares_ / n, small_batch, squared_norm(sum_) / (n * n), small_batch * n);
    sum_.clear();
    squares_ = 0;
    seen_ = 0;
    if (finite && signal_ > 0 && noise_ > 0) requests.log("train/gradient_noise_scale", noise_ / signal_);
  }

  State save() const override {
    State state{
        .integers = {{"calls", calls_}, {"seen", seen_}, {"first_example", first_example_}},
        .numbers = {{"signal", signal_}, {"noise", noise_}, {"weight", weight_}, {"squares", squares_}}};
    for (std::size_t i = 0; i < sum_.size(); ++i) state.tensors["sum." + std::to_string(i)] = sum_[i];
    return state;
  }
  void load(const State& state) override {
    StateReader saved(state);
    calls_ = saved.integer("calls");
    seen_ = saved.integer("seen");
    first_example_ = saved.integer("first_example");
    signal_ = saved.number("signal");
    noise_ = saved.number("noise");
    weight_ = saved.number("weight");
    squares_ = saved.number("squares");
    sum_.clear();
    for (std::size_t i = 0; seen_ > 0 && i < weights_.parameter_names().size(); ++i)
      sum_.push_back(saved.tensor("sum." + std::to_string(i)).clone());
    loaded_ = true;
    saved.finish();
  }

 private:
  static double squared_norm(const std::vector<torch::Tensor>& tensors) {
    return torch::stack(at::_foreach_norm(tensors, 2)).to(torch::kDouble).square().sum().item<double>();
  }

  // The expected squared gradient norm of a batch of B examples is |G|^2 + trace / B, so that two batch sizes
  // determine both |G|^2 (signal) and the trace (noise).
  void measure(double small_norm, double small_batch, double large_norm, double large_batch) {
    const double signal = (large_batch * large_norm - small_batch * small_norm) / (large_batch - small_batch);
    const double noise = (small_norm - large_norm) / (1 / small_batch - 1 / large_batch);
    weight_ = settings_.smoothing * weight_ + (1 - settings_.smoothing);
    const double share = (1 - settings_.smoothing) / weight_;
    signal_ += share * (signal - signal_);
    noise_ += share * (noise - noise_);
  }

  GradientNoise settings_;
  const Weights& weights_;
  std::vector<torch::Tensor> sum_;  // of the gradients in the current measurement
  bool loaded_ = false;             // the sum comes from a checkpoint
  double squares_ = 0;              // of their norms
  std::int64_t seen_ = 0;
  std::int64_t first_example_ = 0;
  std::int64_t calls_ = 0;
  double signal_ = 0, noise_ = 0,
         weight_ = 0;  // means over the measurements so far
};

HookFacts facts(const GradientNoise&) { return {.saves_models = false, .needs_summed_gradients = true}; }

std::unique_ptr<Hook> build(const GradientNoise& settings, const HookInputs& inputs) {
  return std::make_unique<GradientNoiseHook>(settings, *inputs.weights);
}

const Registration<HookKind> registration{
    "gradient_noise",
    "Logs the gradient noise scale: roughly the largest batch size that is still efficient.", &build};

}  // namespace
}  // namespace runner
