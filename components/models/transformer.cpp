#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/transformer.h>
#include <torch/nn/modules/transformercoder.h>
#include <torch/nn/modules/transformerlayer.h>

#include <cmath>

#include "components/layers/activation_checkpoint.hpp"
#include "components/layers/linear.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

struct Transformer {
  std::int64_t layers = 6;
  std::int64_t decoder_layers = 0;
  std::int64_t heads = 8;
  std::int64_t width = 512;
  std::int64_t hidden = 0;
  double dropout = 0.1;
  std::int64_t vocabulary = 0;
  std::int64_t start = 0;
  bool checkpoint_activations = false;
};
constexpr auto describe(std::type_identity<Transformer>) {
  return fields(
      field("layers", &Transformer::layers, "Blocks of the encoder.", within(1, 4096)),
      field("decoder_layers", &Transformer::decoder_layers, "Blocks of the decoder; 0: as many as layers.",
            within(0, 4096)),
      field("heads", &Transformer::heads, "Attention heads of each block.", within(1, 1 << 20),
            changes_course()),
      field("width", &Transformer::width, "Size of the token embeddings; even, and a multiple of heads.",
            within(2, 1 << 20)),
      field("hidden", &Transformer::hidden, "Width of the mlp; 0: four times width.", within(0, 1 << 20)),
      field("dropout", &Transformer::dropout,
            "Dropout of embeddings, attention, mlp and the output of each sublayer.", within(0, 1),
            changes_course()),
      field("vocabulary", &Transformer::vocabulary,
            "Size of the vocabulary of inputs and targets; 0: that of the dataset.", within(0, 1 << 20)),
      field("start", &Transformer::start, "The token that the decoder starts with.", within(0, 1 << 20),
            changes_course()),
      field("checkpoint_activations", &Transformer::checkpoint_activations, checkpoint_doc, harmless()));
}
void check(const Transformer& model, Report& report) {
  if (model.width % model.heads != 0 || model.width % 2 != 0)
    report.error("width", "must be even and a multiple of heads, " + std::to_string(model.heads));
}

// Sines and cosines of the position, [positions, width].
torch::Tensor positions(std::int64_t count, std::int64_t width, torch::Device device) {
  const auto even = torch::arange(0, width, 2, torch::TensorOptions(torch::kFloat32).device(device));
  const auto frequency = torch::exp(even * (-std::log(10000.0) / static_cast<double>(width)));
  const auto angle =
      torch::outer(torch::arange(count, torch::TensorOptions(torch::kFloat32).device(device)), frequency);
  return torch::stack({angle.sin(), angle.cos()}, -1).flatten(1);
}

// Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, on nn.Transformer: from one sequence of tokens to
// another.
class TransformerModel : public Model {
 public:
  TransformerModel(const Transformer& settings, std::int64_t target_length)
      : settings_(settings),
        target_length_(target_length),
        embedding(register_module("embedding", torch::nn::Embedding(settings.vocabulary, settings.width))),
        transformer(register_module(
            "transformer",
            torch::nn::Transformer(torch::nn::TransformerOptions(settings.width, settings.heads,
                                                                 settings.layers, settings.decoder_layers)
                                       .dim_feedforward(settings.hidden)
                                       .dropout(settings.dropout)))),
        fc(register_module("fc", Linear(settings.width, settings.vocabulary))) {}

  // Logits [examples, target positions, vocabulary]. Each position sees the targets before it or, if the
  // batch has no targets, the likeliest tokens that the model itself predicted before it.
  torch::Tensor forward(const Batch& batch) override {
    torch::Tensor padding;  // true for padding, false for tokens
    if (const auto mask = batch.extra.find("mask"); mask != batch.extra.end()) {
      padding = mask->second.to(torch::kBool).logical_not();
      padding.select(1, 0).fill_(false);  // attention to nothing at all would be NaN
    }
    const auto memory = encoded(batch.input, padding);
    if (batch.target.defined()) return decoded(shifted(batch.target.clamp_min(0)), memory, padding);

    auto answer = torch::full({batch.input.size(0), 0}, 0, batch.input.options().dtype(torch::kInt64));
    torch::Tensor logits;
    for (std::int64_t i = 0; i < target_length_; ++i) {
      const auto first = torch::full({answer.size(0), 1}, settings_.start, answer.options());
      logits = decoded(torch::cat({first, answer}, 1), memory, padding);
      answer = logits.argmax(-1);
    }
    return logits;
  }

 private:
  // The decoder's input: the start token, then the targets without the last.
  torch::Tensor shifted(const torch::Tensor& target) const {
    const auto first = torch::full({target.size(0), 1}, settings_.start, target.options());
    return torch::cat({first, target.narrow(1, 0, target.size(1) - 1)}, 1);
  }

  torch::Tensor embedded(
      const torch::Tensor& tokens) {  // [positions, examples, width], as nn.Transformer has it
    const auto x = embedding(tokens) * std::sqrt(static_cast<double>(settings_.width)) +
                   positions(tokens.size(1), settings_.width, tokens.device());
    return torch::dropout(x, settings_.dropout, is_training()).transpose(0, 1);
  }

  torch::Tensor encoded(const torch::Tensor& tokens, const torch::Tensor& padding) {
    auto& encoder = *transformer->encoder.ptr()->as<torch::nn::TransformerEncoder>();
    auto x = embedded(tokens);
    for (const auto& module : *encoder.layers) {
      const auto layer = std::dynamic_pointer_cast<torch::nn::TransformerEncoderLayerImpl>(module);
      x = run_segment(settings_.checkpoint_activations, *layer,
                      [=](const auto& in) { return layer->forward(in[0], {}, padding); }, {x});
    }
    return encoder.norm.forward<torch::Tensor>(x);
  }

  torch::Tensor decoded(const torch::Tensor& tokens, const torch::Tensor& memory,
                        const torch::Tensor& padding) {
    auto& decoder = *transformer->decoder.ptr()->as<torch::nn::TransformerDecoder>();
    const auto causal =
        torch::nn::TransformerImpl::generate_square_subsequent_mask(tokens.size(1)).to(memory.device());
    auto x = embedded(tokens);
    for (const auto& module : *decoder.layers) {
      const auto layer = std::dynamic_pointer_cast<torch::nn::TransformerDecoderLayerImpl>(module);
      x = run_segment(settings_.checkpoint_activations, *layer,
                      [=](const auto& in) { return layer->forward(in[0], in[1], causal, {}, {}, padding); },
                      {x, memory});
    }
    return fc(decoder.norm.forward<torch::Tensor>(x)).transpose(0, 1);
  }

  Transformer settings_;
  std::int64_t target_length_;
  torch::nn::Embedding embedding;
  torch::nn::Transformer transformer;
  Linear fc;
};

ModelFacts facts(const Transformer&) { return {.tasks = {Task::translation}}; }

std::unique_ptr<Model> build(const Transformer& settings, const ModelInputs& inputs) {
  const DataSpec& data = inputs.data;
  Transformer model = settings;
  model.vocabulary = vocabulary_size("transformer", settings.vocabulary, data);
  if (data.target_shape.size() != 1 || data.target_shape[0] < 1 || torch::isFloatingType(data.target_type)) {
    throw std::runtime_error("Model \"transformer\": it needs rows of tokens as targets too.");
  }
  if (model.start >= model.vocabulary) {
    throw std::runtime_error("Model \"transformer\": start is " + std::to_string(model.start) +
                             ", but tokens are below " + std::to_string(model.vocabulary) + ".");
  }
  if (model.decoder_layers == 0) model.decoder_layers = model.layers;
  if (model.hidden == 0) model.hidden = 4 * model.width;
  return std::make_unique<TransformerModel>(model, data.target_shape[0]);
}

const Registration<ModelKind> registration{
    "transformer", "Encoder and decoder: from one sequence of tokens to another; built on nn.Transformer.",
    &build};

}  // namespace
}  // namespace runner
