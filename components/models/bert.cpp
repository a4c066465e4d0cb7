#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include "components/layers/activation_checkpoint.hpp"
#include "components/layers/attention.hpp"
#include "components/layers/linear.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"
#include "components/models/weights/pretrained_config.hpp"
#include "components/models/weights/weight_names.hpp"

namespace runner {
namespace {

struct Bert {
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;
  std::int64_t hidden = 0;
  std::int64_t context = 0;
  std::int64_t vocabulary = 0;
  std::optional<std::int64_t> padding = {};
  double dropout = 0.1;
  std::int64_t num_classes = 0;
  bool checkpoint_activations = false;
};
constexpr auto describe(std::type_identity<Bert>) {
  return fields(
      field("layers", &Bert::layers, "Number of blocks (attention and mlp).", within(1, 4096)),
      field("heads", &Bert::heads, "Attention heads of each block.", within(1, 1 << 20), changes_course()),
      field("width", &Bert::width, "Size of the token embeddings; a multiple of heads.", within(1, 1 << 20)),
      field("hidden", &Bert::hidden, "Width of the mlp; 0: four times width.", within(0, 1 << 20)),
      field("context", &Bert::context, "Maximum number of tokens; 0: as many as the dataset's examples have.",
            within(0, 1 << 20)),
      field("vocabulary", &Bert::vocabulary, "Size of the vocabulary; 0: that of the dataset.",
            within(0, 1 << 20)),
      field("padding", &Bert::padding, "The token whose embedding is not trained: 0 in HuggingFace's models.",
            within(0, 1 << 20), changes_course()),
      field("dropout", &Bert::dropout,
            "Dropout of embeddings, attention, the output of each sublayer and the input of the head.",
            within(0, 1), changes_course()),
      field("num_classes", &Bert::num_classes, "Outputs; 0: as many as the dataset has classes.",
            within(0, 1 << 20)),
      field("checkpoint_activations", &Bert::checkpoint_activations, checkpoint_doc, harmless()));
}
void check(const Bert& bert, Report& report) {
  if (bert.width % bert.heads != 0)
    report.error("width", "must be a multiple of heads, " + std::to_string(bert.heads));
}

Linear linear(std::int64_t in, std::int64_t out) {
  Linear layer(in, out);
  torch::nn::init::normal_(layer->weight, 0, 0.02);
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

torch::nn::LayerNorm norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(1e-12));
}

std::shared_ptr<torch::nn::Module> group(torch::nn::Module& parent, const std::string& name) {
  return parent.register_module(name, std::make_shared<torch::nn::Module>());
}

// Attention, then an mlp; each output is added to its input, then normalised.
class Layer : public torch::nn::Module {
 public:
  explicit Layer(const Bert& bert) : heads_(bert.heads), dropout_(bert.dropout) {
    const auto attention = group(*this, "attention");
    const auto self = group(*attention, "self");
    query = self->register_module("query", linear(bert.width, bert.width));
    key = self->register_module("key", linear(bert.width, bert.width));
    value = self->register_module("value", linear(bert.width, bert.width));
    const auto joined = group(*attention, "output");
    attention_dense = joined->register_module("dense", linear(bert.width, bert.width));
    attention_norm = joined->register_module("LayerNorm", norm(bert.width));
    intermediate = group(*this, "intermediate")->register_module("dense", linear(bert.width, bert.hidden));
    const auto output = group(*this, "output");
    output_dense = output->register_module("dense", linear(bert.hidden, bert.width));
    output_norm = output->register_module("LayerNorm", norm(bert.width));
  }

  torch::Tensor forward(const torch::Tensor& x, const std::optional<torch::Tensor>& mask) {
    const auto attended =
        at::scaled_dot_product_attention(split_heads(query(x), heads_), split_heads(key(x), heads_),
                                         split_heads(value(x), heads_), mask, is_training() ? dropout_ : 0.0);
    const auto middle = attention_norm(dropped(attention_dense(join_heads(attended))) + x);
    return output_norm(dropped(output_dense(torch::gelu(intermediate(middle)))) + middle);
  }

 private:
  torch::Tensor dropped(const torch::Tensor& x) const { return torch::dropout(x, dropout_, is_training()); }

  std::int64_t heads_;
  double dropout_;
  Linear query{nullptr}, key{nullptr}, value{nullptr}, attention_dense{nullptr}, intermediate{nullptr},
      output_dense{nullptr};
  torch::nn::LayerNorm attention_norm{nullptr}, output_norm{nullptr};
};

// Devlin et al. 2018, https://arxiv.org/abs/1810.04805, with the names of HuggingFace's
// BertForSequenceClassification.
class BertModel : public Model, public WeightNames, public Pretrained {
 public:
  BertModel(const Bert& bert, std::int64_t outputs) : bert_(bert) {
    const auto whole = group(*this, "bert");
    const auto embeddings = group(*whole, "embeddings");
    auto tokens = torch::nn::EmbeddingOptions(bert.vocabulary, bert.width);
    tokens.padding_idx(bert.padding);
    word_embeddings = embeddings->register_module("word_embeddings", torch::nn::Embedding(tokens));
    position_embeddings =
        embeddings->register_module("position_embeddings", torch::nn::Embedding(bert.context, bert.width));
    token_type_embeddings =
        embeddings->register_module("token_type_embeddings", torch::nn::Embedding(2, bert.width));
    embedding_norm = embeddings->register_module("LayerNorm", norm(bert.width));
    for (auto* embedding : {&word_embeddings, &position_embeddings, &token_type_embeddings})
      torch::nn::init::normal_((*embedding)->weight, 0, 0.02);
    const auto layers = group(*group(*whole, "encoder"), "layer");
    for (std::int64_t i = 0; i < bert.layers; ++i) {
      layers_.push_back(layers->register_module(std::to_string(i), std::make_shared<Layer>(bert)));
    }
    pooler = group(*whole, "pooler")->register_module("dense", linear(bert.width, bert.width));
    classifier = register_module("classifier", linear(bert.width, outputs));
    if (!bert.padding) return;
    const torch::NoGradGuard no_grad;
    word_embeddings->weight[*bert.padding].zero_();
  }

  torch::Tensor forward(const Batch& batch) override {
    require_positions("bert", batch.input.size(1), bert_.context);
    std::optional<torch::Tensor> mask;  // [examples, 1, 1, tokens]: true for tokens, false for padding
    if (const auto given = batch.extra.find("mask"); given != batch.extra.end()) {
      auto seen = given->second.to(torch::kBool, /*non_blocking=*/false, /*copy=*/true);
      seen.select(1, 0).fill_(true);  // attention to nothing at all would be NaN
      mask = seen.unsqueeze(1).unsqueeze(1);
    }
    const auto positions = position_embeddings->weight.narrow(0, 0, batch.input.size(1));
    const auto one_text = token_type_embeddings->weight[0];
    auto x = dropped(embedding_norm(word_embeddings(batch.input) + one_text + positions));
    for (const auto& layer : layers_) {
      x = run_segment(bert_.checkpoint_activations, *layer,
                      [=](const auto& inputs) { return layer->forward(inputs[0], mask); }, {x});
    }
    return classifier(dropped(torch::tanh(pooler(x.select(1, 0)))));
  }

  std::vector<std::string> adapter_targets() const override { return {"query", "value"}; }

  void adapt(NamedWeights& weights) const override {
    rename_all(weights, [](const std::string& name) {  // TensorFlow's names
      const auto renamed = [&](std::string_view from, std::string_view to) {
        return name.substr(0, name.size() - from.size()) + std::string(to);
      };
      if (name.ends_with("LayerNorm.gamma")) return renamed("gamma", "weight");
      if (name.ends_with("LayerNorm.beta")) return renamed("beta", "bias");
      return name;
    });
    add_prefix(weights, "bert.", "embeddings.word_embeddings.weight", "classifier.");
    std::erase_if(weights,
                  [](const auto& entry) { return entry.first.ends_with("embeddings.position_ids"); });
  }

  void compare(PretrainedConfig& config) const override {
    config.kind("bert");
    config.same("num_hidden_layers", 12, "layers", bert_.layers);
    config.same("num_attention_heads", 12, "heads", bert_.heads);
    config.same("hidden_size", 768, "width", bert_.width);
    config.same("intermediate_size", 3072, "hidden", bert_.hidden);
    config.same("max_position_embeddings", 512, "context", bert_.context);
    config.same("vocab_size", 30522, "vocabulary", bert_.vocabulary);
    config.only("hidden_act", {"\"gelu\""});
    config.only("layer_norm_eps", {"1e-12"});
    config.only("type_vocab_size", {"2"});
    config.only("position_embedding_type", {"\"absolute\""});
    config.only("is_decoder", {"false"});
    config.only("add_cross_attention", {"false"});
  }

 private:
  torch::Tensor dropped(const torch::Tensor& x) const {
    return torch::dropout(x, bert_.dropout, is_training());
  }

  Bert bert_;
  torch::nn::Embedding word_embeddings{nullptr}, position_embeddings{nullptr}, token_type_embeddings{nullptr};
  torch::nn::LayerNorm embedding_norm{nullptr};
  std::vector<std::shared_ptr<Layer>> layers_;
  Linear pooler{nullptr}, classifier{nullptr};
};

ModelFacts facts(const Bert&) { return {.tasks = {Task::sentences}, .pretrained_types = {"bert"}}; }

std::unique_ptr<Model> build(const Bert& settings, const ModelInputs& inputs) {
  Bert bert = settings;
  bert.vocabulary = vocabulary_size("bert", settings.vocabulary, inputs.data);
  bert.context = context_length("bert", settings.context, inputs.data);
  if (bert.hidden == 0) bert.hidden = 4 * bert.width;
  if (bert.padding && *bert.padding >= bert.vocabulary) {
    throw std::runtime_error("Model \"bert\": padding is " + std::to_string(*bert.padding) +
                             ", but tokens are below " + std::to_string(bert.vocabulary) + ".");
  }
  return std::make_unique<BertModel>(bert, output_count("bert", settings.num_classes, inputs.data));
}

const Registration<ModelKind> registration{
    "bert", "An encoder that classifies texts; layers as in HuggingFace's BertForSequenceClassification.",
    &build};

}  // namespace
}  // namespace runner
