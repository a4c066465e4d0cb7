#include <torch/nn/modules/embedding.h>

#include <set>

#include "components/precisions/fp8_linear.hpp"
#include "components/precisions/precision.hpp"
#include "registry/base/wording.hpp"

namespace runner {
namespace {

struct Fp8 {
  std::int64_t amax_history = 16;
  std::int64_t margin = 0;
};

constexpr auto describe(std::type_identity<Fp8>) {
  return fields(field("amax_history", &Fp8::amax_history,
                      "A tensor's scale is chosen from its largest magnitudes in this many passes.",
                      within(1, 4096), fixed()),
                field("margin", &Fp8::margin, "Powers of two left free above the largest magnitude expected.",
                      within(0, 16)));
}

// Linear layers in 8 bits, everything else in bf16. Micikevicius et al. 2022, "FP8 formats for deep
// learning".
class Fp8Precision final : public Precision {
 public:
  Fp8Precision(const Fp8& settings, torch::DeviceType device) : settings_(settings), device_(device) {}

  void prepare(torch::nn::Module& model) override {
    layers_.clear();
    left_.clear();
    // Weights of embeddings are two-dimensional too, but they are not used in matrix products.
    std::set<const void*> others;  // and those that have been added under another name
    for (const auto& module : model.modules(/*include_self=*/false)) {
      if (const auto* embedding = module->as<torch::nn::Embedding>()) {
        others.insert(embedding->weight.unsafeGetTensorImpl());
      }
      // What sits in a layer that has a weight itself is an adapter: small, and it corrects what rounding
      // does.
      if (module->named_parameters(/*recurse=*/false).contains("weight"))
        for (const auto& inner : module->children())
          for (const torch::Tensor& parameter : inner->parameters())
            others.insert(parameter.unsafeGetTensorImpl());
    }
    for (const auto& entry : model.named_parameters()) {
      const torch::Tensor& weight = entry.value();
      if (weight.dim() == 2 && others.insert(weight.unsafeGetTensorImpl()).second) add(entry.key(), weight);
    }
  }

  std::unique_ptr<Scope> forward() override { return std::make_unique<Fp8Scope>(device_, layers_); }

  std::string summary() const override {
    if (layers_.empty() && left_.empty()) return "bf16: the model has no linear layer for fp8";
    std::vector<std::string> names;
    for (const auto& layer : layers_) names.push_back(layer->name);
    const bool few = names.size() <= 8;  // a longer list would only fill the screen
    std::string text = "fp8 in " + (few ? listed(names) : std::to_string(names.size()) + " linear layers") +
                       "; bf16 elsewhere";
    if (names.empty()) text = "bf16: no linear layer fits fp8";
    if (!left_.empty()) text += "; too small or not in multiples of 16, so left in bf16: " + listed(left_);
    return text;
  }

  // Of the layers that are not in fp8.
  torch::ScalarType compute_type() const override { return torch::kBFloat16; }

  State save() const override {
    State state;
    for_each_history([&](const std::string& name, const AmaxHistory& history) {
      state.tensors[name] = history.magnitudes().clone();
      state.integers[name + ".next"] = history.next();
    });
    return state;
  }

  void load(const State& state) override {
    StateReader saved(state);
    for_each_history([&](const std::string& name, AmaxHistory& history) {
      saved.tensor_into(name, history.magnitudes());
      history.set_next(saved.integer(name + ".next"));
    });
    saved.finish();
  }

 private:
  void add(std::string name, const torch::Tensor& weight) {
    // Only at the end: the matrices of a module with several, such as "lstm.weight_ih_l0", keep their names.
    if (constexpr std::string_view end = ".weight"; name.ends_with(end))
      name.resize(name.size() - end.size());
    if (weight.size(0) % 16 != 0 || weight.size(1) % 16 != 0) {
      left_.push_back(std::move(name));
    } else {
      layers_.push_back(c10::make_intrusive<Fp8Layer>(name, weight, settings_.amax_history,
                                                      static_cast<double>(settings_.margin)));
    }
  }

  void for_each_history(auto visit) const {
    for (const auto& layer : layers_) {
      visit(layer->name + ".input_amax", layer->input_history);
      visit(layer->name + ".weight_amax", layer->weight_history);
      visit(layer->name + ".gradient_amax", layer->gradient_history);
    }
  }

  Fp8 settings_;
  torch::DeviceType device_;
  Fp8Layers layers_;
  std::vector<std::string> left_;
};

// The positions in the ring buffers of magnitudes are kept on the host.
PrecisionFacts facts(const Fp8&) { return {.has_host_state = true}; }

std::unique_ptr<Precision> build(const Fp8& settings, const PrecisionInputs& inputs) {
  return std::make_unique<Fp8Precision>(settings, inputs.device.type());
}

const Registration<PrecisionKind> registration{
    "fp8", "8-bit floats in linear layers (e4m3 forward, e5m2 gradients), bfloat16 in the rest.", &build};

}  // namespace
}  // namespace runner
