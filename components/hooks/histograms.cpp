// Distributions of weights and gradients, per parameter. Histograms go to the trackers that show them
// (tensorboard, wandb); norms, one number per parameter, go to all.
#include <torch/utils.h>

#include <stdexcept>

#include "components/contract/pattern.hpp"
#include "components/hooks/hook.hpp"
#include "components/hooks/tensor_histogram.hpp"

namespace runner {
namespace {

struct Histograms {
  std::int64_t every = 200;
  std::vector<std::string> match = {"*"};
  bool norms = true;
};
constexpr auto describe(std::type_identity<Histograms>) {
  return fields(
      field("every", &Histograms::every, "Steps between two histograms; the first is at the start.",
            at_least(1), harmless()),
      field("match", &Histograms::match, "The parameters, by pattern.", non_empty(), harmless()),
      field("norms", &Histograms::norms,
            "Log the norms as well: weight_norm/<parameter> and gradient_norm/<parameter>.", harmless()));
}

class HistogramsHook : public Hook {
 public:
  HistogramsHook(Histograms settings, const Weights& weights)
      : settings_(std::move(settings)), weights_(weights) {}

  bool wants_gradients(const Progress& progress) const override {
    return progress.step % settings_.every == 0;
  }

  void before_update(const Progress&, double, double, Requests& requests) override {
    const torch::NoGradGuard no_grad;
    std::vector<std::string> names;
    std::vector<torch::Tensor> norms;  // kept on the device, to be read at once
    weights_.visit([&](const std::string& name, const torch::Tensor& value, const torch::Tensor& gradient) {
      const auto wanted = [&](const std::string& pattern) { return selects(pattern, name); };
      if (!std::ranges::any_of(settings_.match, wanted)) return;
      names.push_back("weight_norm/" + name);
      norms.push_back(value.norm());
      requests.histogram("weights/" + name, histogram_of(value));
      if (!gradient.defined()) return;  // frozen
      names.push_back("gradient_norm/" + name);
      norms.push_back(gradient.norm());
      requests.histogram("gradients/" + name, histogram_of(gradient));
    });
    if (!settings_.norms) return;
    const torch::Tensor all = torch::stack(norms).to(torch::kDouble).cpu();
    for (std::size_t i = 0; i < names.size(); ++i)
      requests.log(names[i], all[static_cast<std::int64_t>(i)].item<double>());
  }

 private:
  Histograms settings_;
  const Weights& weights_;
};

HookFacts facts(const Histograms&) {
  return {.saves_models = false, .keeps_state = false, .only_observes = true};
}

std::unique_ptr<Hook> build(const Histograms& settings, const HookInputs& inputs) {
  const std::vector<std::string> names = inputs.weights->parameter_names();
  for (const std::string& pattern : settings.match) {
    const auto selected = [&](const std::string& name) { return selects(pattern, name); };
    if (std::ranges::none_of(names, selected))
      throw std::runtime_error(nothing_selected("Hook \"histograms\", match", pattern, names));
  }
  return std::make_unique<HistogramsHook>(settings, *inputs.weights);
}

const Registration<HookKind> registration{
    "histograms", "Histograms and norms of weights and gradients, parameter by parameter.", &build};

}  // namespace
}  // namespace runner
