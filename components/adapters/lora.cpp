#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/adapters/adapter.hpp"
#include "registry/base/wording.hpp"

namespace runner {
namespace {

using Json = nlohmann::json;

enum class LoraBias { none, all, lora_only };
constexpr auto describe(std::type_identity<LoraBias>) {
  return choices(choice("none", LoraBias::none), choice("all", LoraBias::all, "of the whole model"),
                 choice("lora_only", LoraBias::lora_only, "of the layers with an adapter"));
}

struct Lora {
  std::optional<std::int64_t> rank = {};
  std::optional<double> alpha = {};
  double dropout = 0;
  std::optional<bool> rslora = {};
  std::optional<bool> dora = {};
  LoraBias bias = LoraBias::none;
  std::map<std::string, std::int64_t> rank_pattern = {};
  std::map<std::string, double> alpha_pattern = {};
};
constexpr auto describe(std::type_identity<Lora>) {
  return fields(
      field("rank", &Lora::rank, "Rows of A and columns of B; default: 8, or that of weights.",
            within(1, 1 << 16)),
      field("alpha", &Lora::alpha,
            "The product of B and A is multiplied by alpha / rank; default: 8, or that of weights.",
            above(0)),
      field("dropout", &Lora::dropout, "Dropout of the input of A.", within(0, 1), changes_course()),
      field("rslora", &Lora::rslora,
            "Multiply by alpha / sqrt(rank) instead, which suits high ranks (Kalajdzievski 2023); default: "
            "false, or that of weights."),
      field("dora", &Lora::dora,
            "Train the length of each row of the weight apart from its direction (Liu et al. 2024); default: "
            "false, or that of weights."),
      field("bias", &Lora::bias, "Biases of the model that are trained, too."),
      field("rank_pattern", &Lora::rank_pattern,
            "Other ranks for some layers, selected as by targets: { k_proj = 4 }."),
      field("alpha_pattern", &Lora::alpha_pattern, "The same for alpha."));
}

torch::Tensor register_matrix(LinearImpl& layer, const std::string& name, std::int64_t rows,
                              std::int64_t columns) {
  const auto holder = layer.register_module(name, std::make_shared<torch::nn::Module>());
  return holder->register_parameter("weight", torch::empty({rows, columns}));
}

// y = W x + scale B A x. Hu et al. 2021, https://arxiv.org/abs/2106.09685; names are those of PEFT. With DoRA
// (https://arxiv.org/abs/2402.09353), the rows of W + scale B A get the lengths that `length` has.
class LowRank final : public LayerAdapter {
 public:
  LowRank(LinearImpl& layer, std::int64_t rank, double scale, double dropout, bool dora)
      : scale_(scale),
        dropout_(dropout),
        a_(register_matrix(layer, "lora_A", rank, layer.in_features())),
        b_(register_matrix(layer, "lora_B", layer.out_features(), rank)) {
    torch::nn::init::kaiming_uniform_(a_, std::sqrt(5));
    torch::nn::init::zeros_(b_);
    const torch::NoGradGuard no_grad;
    if (dora) length_ = layer.register_parameter("lora_magnitude_vector", row_lengths(layer));
  }

  torch::Tensor forward(const torch::Tensor& x, const LinearImpl& layer) const override {
    const bool drops = dropout_ > 0 && layer.is_training();
    const torch::Tensor dropped = drops ? torch::dropout(x, dropout_, true) : x;
    const torch::Tensor y = layer.plain(x);
    const torch::Tensor added = torch::linear(torch::linear(dropped, a_), b_) * scale_;
    if (!length_.defined()) return y + added;
    // Lengths are constants for the gradient (section 4.3 of the paper).
    const torch::Tensor factor = length_ / row_lengths(layer);
    const torch::Tensor through_weight = torch::linear(dropped, layer.out_in());
    return y + (factor - 1) * through_weight + factor * added;
  }

  torch::Tensor merged(const LinearImpl& layer) const override {
    const torch::NoGradGuard no_grad;
    const torch::Tensor whole = sum(layer);
    return length_.defined() ? whole * (length_ / row_lengths(layer)).unsqueeze(1) : whole;
  }

 private:
  torch::Tensor sum(const LinearImpl& layer) const {
    return layer.out_in().to(torch::kFloat) + scale_ * torch::matmul(b_, a_);
  }
  torch::Tensor row_lengths(const LinearImpl& layer) const {
    const torch::NoGradGuard no_grad;
    return sum(layer).norm(2, 1);
  }

  double scale_, dropout_;
  torch::Tensor a_, b_, length_;
};

class LoraAdapter final : public Adapter {
 public:
  explicit LoraAdapter(Lora settings) : settings_(std::move(settings)) {}

  std::shared_ptr<LayerAdapter> sit_in(LinearImpl& layer, const std::string& name) const override {
    const std::int64_t rank = chosen(settings_.rank_pattern, name, *settings_.rank);
    const double alpha = chosen(settings_.alpha_pattern, name, *settings_.alpha);
    const auto ranks = static_cast<double>(rank);
    return std::make_shared<LowRank>(layer, rank, alpha / (*settings_.rslora ? std::sqrt(ranks) : ranks),
                                     settings_.dropout, *settings_.dora);
  }

  bool trains(const std::string& parameter, bool adapted) const override {
    return settings_.bias != LoraBias::none && parameter.ends_with("bias") &&
           (adapted || settings_.bias == LoraBias::all);
  }

  Json peft_config() const override {
    return {{"peft_type", "LORA"},
            {"r", *settings_.rank},
            {"lora_alpha", number(*settings_.alpha)},
            {"lora_dropout", settings_.dropout},
            {"use_rslora", *settings_.rslora},
            {"use_dora", *settings_.dora},
            {"bias", bias_word(settings_.bias)},
            {"rank_pattern", patterns(settings_.rank_pattern)},
            {"alpha_pattern", patterns(settings_.alpha_pattern)},
            {"init_lora_weights", true}};
  }

  static const char* bias_word(LoraBias bias) {
    return bias == LoraBias::none ? "none" : bias == LoraBias::all ? "all" : "lora_only";
  }

 private:
  // PEFT, too, takes the first pattern that fits.
  template <class T>
  static T chosen(const std::map<std::string, T>& patterns, const std::string& name, T usual) {
    for (const auto& [pattern, value] : patterns)
      if (selects_layer(pattern, name)) return value;
    return usual;
  }
  static Json number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
  }
  // PEFT's patterns are regular expressions.
  template <class T>
  static Json patterns(const std::map<std::string, T>& own) {
    Json written = Json::object();
    for (const auto& [pattern, value] : own) {
      std::string expression;
      for (const char c : pattern)
        expression += c == '*' ? ".*" : c == '?' ? "." : c == '.' ? "\\." : std::string(1, c);
      written[expression] = value;
    }
    return written;
  }

  Lora settings_;
};

[[noreturn]] void refuse(const std::string& key, const Json& value, const std::string& why) {
  throw std::runtime_error("model.adapter.weights: " + escaped_name(key) + " = " +
                           escaped_name(value.dump()) + " in adapter_config.json " + why + ".");
}

// Takes what the recipe leaves open from the file, and refuses what contradicts it.
template <class T>
void settle(std::optional<T>& setting, const std::string& name, const Json* config, const std::string& key,
            T usual) {
  const auto found = config ? config->find(key) : Json::const_iterator();
  const bool in_file = config && found != config->end() && !found->is_null();
  if (in_file && (std::is_same_v<T, bool> ? !found->is_boolean() : !found->is_number()))
    refuse(key, *found, "has the wrong type");
  if (!in_file) {
    if (!setting) setting = usual;
    return;
  }
  const T held = found->template get<T>();
  if (setting && *setting != held)
    refuse(key, *found, "differs from model.adapter." + name + " of the recipe");
  setting = held;
}

template <class T>
void settle_patterns(std::map<std::string, T>& patterns, const std::string& name, const Json* config,
                     const std::string& key) {
  if (!config || !config->contains(key) || (*config)[key].is_null()) return;
  std::map<std::string, T> held;
  for (const auto& [expression, value] : (*config)[key].items()) {
    if (!value.is_number()) refuse(key, (*config)[key], "has the wrong type");
    std::string pattern;
    for (std::size_t i = 0; i < expression.size(); ++i) {
      if (expression[i] == '\\' && i + 1 < expression.size() && expression[i + 1] == '.') continue;
      if (expression.compare(i, 2, ".*") == 0) {
        pattern += '*';
        ++i;
      } else if (std::string_view("^$+?()[]{}|\\*").find(expression[i]) != std::string_view::npos) {
        refuse(key, (*config)[key], "is a regular expression, which is not supported");
      } else {
        pattern += expression[i];
      }
    }
    held[pattern] = value.template get<T>();
  }
  if (!patterns.empty() && patterns != held)
    refuse(key, (*config)[key], "differs from model.adapter." + name + " of the recipe");
  patterns = std::move(held);
}

// Variants of LoRA that PEFT has and this component does not.
void require_plain(const Json& config) {
  for (const char* key :
       {"layer_replication", "layers_to_transform", "layers_pattern", "lora_bias", "alora_invocation_tokens",
        "arrow_config", "corda_config", "eva_config", "lora_ga_config", "kasa_config", "velora_config",
        "monteclora_config", "target_parameters", "trainable_token_indices", "use_bdlora", "use_qalora"}) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null() || *found == false ||
        (found->is_structured() && found->empty()))
      continue;
    refuse(key, *found, "is not supported");
  }
}

std::unique_ptr<Adapter> build(const Lora& given, const AdapterInputs& inputs) {
  Lora lora = given;
  const Json* config = inputs.peft_config;
  if (config) {
    if (config->value("peft_type", Json()) != "LORA")
      refuse("peft_type", config->value("peft_type", Json()), "is another kind of adapter");
    require_plain(*config);
    const Json bias = config->value("bias", Json("none"));
    if (lora.bias == LoraBias::none && bias == "all") lora.bias = LoraBias::all;
    if (lora.bias == LoraBias::none && bias == "lora_only") lora.bias = LoraBias::lora_only;
    if (bias != LoraAdapter::bias_word(lora.bias))
      refuse("bias", bias, "differs from model.adapter.bias of the recipe");
  }
  settle<std::int64_t>(lora.rank, "rank", config, "r", 8);
  settle<double>(lora.alpha, "alpha", config, "lora_alpha", 8);
  settle(lora.rslora, "rslora", config, "use_rslora", false);
  settle(lora.dora, "dora", config, "use_dora", false);
  settle_patterns(lora.rank_pattern, "rank_pattern", config, "rank_pattern");
  settle_patterns(lora.alpha_pattern, "alpha_pattern", config, "alpha_pattern");
  return std::make_unique<LoraAdapter>(std::move(lora));
}

const Registration<AdapterKind> registration{
    "lora", "LoRA: a product of two small matrices beside the weight of a layer; files as PEFT's.", &build};

}  // namespace
}  // namespace runner
