#include <torch/utils.h>

#include <algorithm>
#include <iomanip>
#include <map>

#include <nlohmann/json.hpp>

#include "components/contract/example_random.hpp"
#include "components/hooks/hook.hpp"
#include "components/images/image_uri.hpp"
#include "components/metrics/labels.hpp"
#include "registry/files/atomic_file.hpp"

namespace runner {
namespace {

struct SamplePredictions {
  std::int64_t count = 8;
};
constexpr auto describe(std::type_identity<SamplePredictions>) {
  return fields(field("count", &SamplePredictions::count,
                      "Number of validation examples to show, spread over the set.", at_least(1),
                      harmless()));
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

using Json = nlohmann::ordered_json;

// Logs the predictions as text, and writes them with the images to sample_predictions.json for the report.
class SamplePredictionsHook : public Hook {
 public:
  SamplePredictionsHook(const SamplePredictions& settings, DataSpec data)
      : settings_(settings), data_(std::move(data)) {}

  void start(const Progress&, const std::filesystem::path& folder, Requests&) override { folder_ = folder; }

  // Which examples are shown is as good as random, so that they are spread over a set that is sorted by
  // class, and depends on their places alone, so that every evaluation shows the same ones: those with the
  // smallest hashes.
  void after_eval_batch(const Batch& batch, const torch::Tensor& output) override {
    const torch::NoGradGuard no_grad;
    for (std::int64_t i = 0; i < batch.size(); ++i, ++seen_) {
      const std::uint64_t rank = example_seed(0, 0, static_cast<std::uint64_t>(seen_));
      const bool full = std::ssize(chosen_) == settings_.count;
      if (full && rank > chosen_.rbegin()->first) continue;
      if (full) chosen_.erase(std::prev(chosen_.end()));
      const bool image = data_.images && batch.input.dim() == 4;
      chosen_.insert({rank,
                      {seen_, output.narrow(0, i, 1).clone(), batch.target.narrow(0, i, 1).clone(),
                       image ? batch.input[i].clone() : torch::Tensor()}});
    }
  }

  void after_eval(const Progress& progress, const Measurements&, Requests& requests) override {
    std::vector<const Chosen*> in_order;
    for (const auto& [rank, one] : chosen_) in_order.push_back(&one);
    std::ranges::sort(in_order, {}, [](const Chosen* one) { return one->place; });
    for (const Chosen* one : in_order) add(*one);
    if (shown_ > 0) requests.note({"sample_predictions", text_});
    if (shown_ > 0 && !folder_.empty()) {
      const Json json{{"step", progress.step}, {"samples", samples_}};
      AtomicFile file(folder_ / "sample_predictions.json");
      file.write(json.dump(-1, ' ', false, Json::error_handler_t::replace));
      file.commit();
    }
    chosen_.clear();
    seen_ = 0;
    text_.clear();
    samples_ = Json::array();
    shown_ = 0;
  }

 private:
  struct Chosen {
    std::int64_t place = 0;
    torch::Tensor output, target, image;
  };

  void add(const Chosen& one) {
    if (data_.classes > 0 && one.output.dim() == 2 && one.output.size(1) > 1) {
      add_classes(one.output, one.target);
    } else {
      add_line(numbers(in_units(one.target[0])), numbers(in_units(one.output[0])), std::nullopt, false);
    }
    if (one.image.defined()) samples_.back()["image"] = image_uri(one.image, data_);
  }

  // In the units of the data, even if the targets were standardised.
  torch::Tensor in_units(const torch::Tensor& values) const {
    if (data_.target_mean == 0 && data_.target_deviation == 1) return values;
    return values.to(torch::kDouble) * data_.target_deviation + data_.target_mean;
  }

  void add_classes(const torch::Tensor& output, const torch::Tensor& target) {
    const torch::Tensor truth = labels_of(target, output).cpu();
    const auto [sure, likely] = output.to(torch::kDouble).softmax(1).cpu().max(1);
    for (std::int64_t i = 0; i < truth.size(0); ++i) {
      const auto right = truth[i].item<std::int64_t>(), guess = likely[i].item<std::int64_t>();
      add_line(data_.class_name(right), data_.class_name(guess), sure[i].item<double>(), right != guess);
    }
  }

  void add_line(const std::string& truth, const std::string& prediction, std::optional<double> probability,
                bool wrong) {
    std::ostringstream line;
    line << (shown_ > 0 ? "\n" : "") << "  " << shown_ << ": true " << truth << ", predicted " << prediction;
    ++shown_;
    if (probability) line << std::fixed << std::setprecision(2) << " (" << *probability << ")";
    if (wrong) line << "  wrong";
    text_ += line.str();
    Json sample{{"truth", truth}, {"prediction", prediction}, {"wrong", wrong}};
    if (probability) sample["probability"] = *probability;
    samples_.push_back(std::move(sample));
  }

  SamplePredictions settings_;
  DataSpec data_;
  std::filesystem::path folder_;
  std::map<std::uint64_t, Chosen> chosen_;
  std::int64_t seen_ = 0;  // examples of this evaluation
  std::string text_;
  Json samples_ = Json::array();
  std::int64_t shown_ = 0;
};

HookFacts facts(const SamplePredictions&) {
  return {.saves_models = false, .keeps_state = false, .only_observes = true};
}

std::unique_ptr<Hook> build(const SamplePredictions& settings, const HookInputs& inputs) {
  return std::make_unique<SamplePredictionsHook>(settings, inputs.data);
}

const Registration<HookKind> registration{
    "sample_predictions", "Shows predictions and targets of a few validation examples.", &build};

}  // namespace
}  // namespace runner
