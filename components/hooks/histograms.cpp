// How weights and gradients are distributed, parameter by parameter. Histograms go to the trackers that show
// them (tensorboard); the norms, one number a parameter, to all.
#include <ATen/ops/_foreach_norm.h>
#include <torch/utils.h>

#include <stdexcept>

#include "components/hooks/hook.hpp"
#include "components/hooks/tensor_histogram.hpp"
#include "components/models/model.hpp"
#include "components/pattern.hpp"

namespace runner {
namespace {

struct Histograms {
  std::int64_t every = 200;
  std::vector<std::string> match = {"*"};
  bool norms = true;
};
constexpr auto describe(std::type_identity<Histograms>) {
  return fields(field("every", &Histograms::every, "Steps from one to the next; the first is at the start.",
                      at_least(1)),
                field("match", &Histograms::match, "The parameters, by pattern.", non_empty()),
                field("norms", &Histograms::norms,
                      "Log the norms as well: weight_norm/<parameter> and gradient_norm/<parameter>."));
}

struct Watched {
  std::vector<std::string> names = {};
  std::vector<torch::Tensor> parameters = {};
};

class HistogramsHook : public Hook {
 public:
  HistogramsHook(const Histograms& params, Watched watched) : params_(params), watched_(std::move(watched)) {}

  bool wants_gradients(const Progress& progress) const override { return progress.step % params_.every == 0; }

  void before_update(const Progress&, double, double, Requests& requests) override {
    const torch::NoGradGuard no_grad;
    std::vector<std::string> names;
    std::vector<torch::Tensor> tensors;
    for (std::size_t i = 0; i < watched_.names.size(); ++i) {
      const torch::Tensor& parameter = watched_.parameters[i];
      names.push_back("weight_norm/" + watched_.names[i]);
      tensors.push_back(parameter.detach());
      requests.histogram("weights/" + watched_.names[i], histogram_of(parameter));
      if (!parameter.grad().defined()) continue;  // frozen
      names.push_back("gradient_norm/" + watched_.names[i]);
      tensors.push_back(parameter.grad());
      requests.histogram("gradients/" + watched_.names[i], histogram_of(parameter.grad()));
    }
    if (!params_.norms) return;
    const torch::Tensor norms = torch::stack(at::_foreach_norm(tensors, 2)).to(torch::kDouble).cpu();
    for (std::size_t i = 0; i < names.size(); ++i)
      requests.log(names[i], norms[static_cast<std::int64_t>(i)].item<double>());
  }

 private:
  Histograms params_;
  Watched watched_;
};

std::unique_ptr<Hook> build(const Histograms& params, const HookInputs& in) {
  const auto parameters = in.model->named_parameters();
  Watched watched;
  for (const auto& item : parameters) {
    const auto wanted = [&](const std::string& pattern) { return selects(pattern, item.key()); };
    if (!std::ranges::any_of(params.match, wanted)) continue;
    watched.names.push_back(item.key());
    watched.parameters.push_back(item.value());
  }
  for (const std::string& pattern : params.match) {
    const auto selected = [&](const auto& item) { return selects(pattern, item.key()); };
    if (std::ranges::none_of(parameters, selected))
      throw std::runtime_error(nothing_selected("Hook \"histograms\", match", pattern, parameters.keys()));
  }
  return std::make_unique<HistogramsHook>(params, std::move(watched));
}

const Registration<HookKind> registration{
    "histograms", "Histograms and norms of weights and gradients, parameter by parameter.", &build};

}  // namespace
}  // namespace runner
