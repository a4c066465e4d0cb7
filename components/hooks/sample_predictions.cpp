#include <torch/utils.h>

#include <iomanip>

#include "components/hooks/hook.hpp"
#include "components/metrics/support/labels.hpp"

namespace runner {
namespace {

struct SamplePredictions {
  std::int64_t count = 8;
};
constexpr auto describe(std::type_identity<SamplePredictions>) {
  return fields(field("count", &SamplePredictions::count,
                      "How many of the first evaluation examples are shown.", at_least(1)));
}

std::string numbers(const torch::Tensor& tensor) {
  constexpr std::int64_t most = 6;
  const torch::Tensor flat = tensor.flatten().to(torch::kDouble).cpu();
  std::ostringstream out;
  for (std::int64_t i = 0; i < std::min(most, flat.numel()); ++i)
    out << (i > 0 ? " " : "") << std::setprecision(4) << flat[i].item<double>();
  if (flat.numel() > most) out << " ..";
  return out.str();
}

class SamplePredictionsHook : public Hook {
 public:
  SamplePredictionsHook(const SamplePredictions& params, DataSpec data)
      : params_(params), data_(std::move(data)) {}

  void after_eval_batch(const Batch& batch, const torch::Tensor& output) override {
    const torch::NoGradGuard no_grad;
    const std::int64_t some = std::min(params_.count - shown_, batch.size());
    if (some <= 0) return;
    const bool classes = data_.classes > 0 && output.dim() == 2 && output.size(1) > 1;
    if (classes) {
      add_classes(output.narrow(0, 0, some), batch.target.narrow(0, 0, some));
    } else {
      for (std::int64_t i = 0; i < some; ++i)
        add_line(numbers(in_units(batch.target[i])), numbers(in_units(output[i])), std::nullopt, false);
    }
  }

  void after_eval(const Progress&, const Measurements&, Requests& requests) override {
    if (shown_ > 0) requests.note({"sample_predictions", text_});
    text_.clear();
    shown_ = 0;
  }

 private:
  // Of the data, where targets were standardised.
  torch::Tensor in_units(const torch::Tensor& values) const {
    if (data_.target_mean == 0 && data_.target_deviation == 1) return values;
    return values.to(torch::kDouble) * data_.target_deviation + data_.target_mean;
  }

  void add_classes(const torch::Tensor& output, const torch::Tensor& target) {
    const torch::Tensor truth = labels_of(target, output).cpu();
    const auto [sure, likely] = output.to(torch::kDouble).softmax(1).cpu().max(1);
    for (std::int64_t i = 0; i < truth.size(0); ++i) {
      const auto right = truth[i].item<std::int64_t>(), guess = likely[i].item<std::int64_t>();
      add_line(name(right), name(guess), sure[i].item<double>(), right != guess);
    }
  }

  void add_line(const std::string& truth, const std::string& prediction, std::optional<double> probability,
                bool wrong) {
    std::ostringstream line;
    line << (shown_ > 0 ? "\n" : "") << "  " << shown_++ << ": true " << truth << ", predicted "
         << prediction;
    if (probability) line << std::fixed << std::setprecision(2) << " (" << *probability << ")";
    if (wrong) line << "  wrong";
    text_ += line.str();
  }

  std::string name(std::int64_t label) const {
    const auto index = static_cast<std::size_t>(label);
    return label >= 0 && index < data_.class_names.size() ? data_.class_names[index] : std::to_string(label);
  }

  SamplePredictions params_;
  DataSpec data_;
  std::string text_;
  std::int64_t shown_ = 0;
};

std::unique_ptr<Hook> build(const SamplePredictions& params, const HookInputs& in) {
  return std::make_unique<SamplePredictionsHook>(params, in.data);
}

const Registration<HookKind> registration{
    "sample_predictions", "Shows predictions for a few evaluation examples beside the truth.", &build};

}  // namespace
}  // namespace runner
