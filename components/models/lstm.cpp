#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/utils/rnn.h>

#include <limits>
#include <stdexcept>

#include "components/layers/linear.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/language_model.hpp"

namespace runner {
namespace {

enum class Answer { automatic, text, token };
constexpr auto describe(std::type_identity<Answer>) {
  return choices(
      choice("auto", Answer::automatic, "as the targets are: one for a text, or one for each token"),
      choice("class", Answer::text, "the class of the whole text"),
      choice("token", Answer::token, "at each token, the one that follows"));
}

struct Lstm {
  std::int64_t width = 128;
  std::int64_t hidden = 256;
  std::int64_t layers = 1;
  bool bidirectional = false;
  double dropout = 0.0;
  Answer predict = Answer::automatic;
  std::int64_t vocabulary = 0;
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<Lstm>) {
  return fields(field("width", &Lstm::width, "Size of the token embeddings.", within(1, 1 << 20)),
                field("hidden", &Lstm::hidden, "Size of the hidden state of each layer.", within(1, 1 << 20)),
                field("layers", &Lstm::layers, "Number of layers.", within(1, 4096)),
                field("bidirectional", &Lstm::bidirectional, "Read the text in both directions."),
                field("dropout", &Lstm::dropout, "Dropout of embeddings, between layers and before the head.",
                      within(0, 1), changes_course()),
                field("predict", &Lstm::predict, "What the outputs are."),
                field("vocabulary", &Lstm::vocabulary, "Size of the vocabulary; 0: that of the dataset.",
                      within(0, 1 << 20)),
                field("num_classes", &Lstm::num_classes,
                      "Outputs for a text; 0: as many as the dataset has classes.", within(0, 1 << 20)));
}
void check(const Lstm& lstm, Report& report) {
  if (lstm.predict == Answer::token && lstm.bidirectional)
    report.error("bidirectional", "would show the model the very token it is to predict");
}

// Hochreiter and Schmidhuber 1997: an embedding, nn.LSTM and a linear head.
class Recurrent {
 public:
  Recurrent(torch::nn::Module& owner, const Lstm& settings, std::int64_t outputs)
      : dropout_(settings.dropout),
        embedding(
            owner.register_module("embedding", torch::nn::Embedding(settings.vocabulary, settings.width))),
        lstm(owner.register_module(
            "lstm", torch::nn::LSTM(torch::nn::LSTMOptions(settings.width, settings.hidden)
                                        .num_layers(settings.layers)
                                        .batch_first(true)
                                        .bidirectional(settings.bidirectional)
                                        .dropout(settings.layers > 1 ? settings.dropout : 0)))),
        fc(owner.register_module("fc", Linear(settings.hidden * (settings.bidirectional ? 2 : 1), outputs))) {
  }

  torch::Tensor embedded(const torch::Tensor& tokens, bool training) {
    return torch::dropout(embedding(tokens), dropout_, training);
  }
  torch::Tensor answered(const torch::Tensor& x, bool training) {
    return fc(torch::dropout(x, dropout_, training));
  }

 private:
  double dropout_;

 public:
  torch::nn::Embedding embedding;
  torch::nn::LSTM lstm;
  Linear fc;
};

class LstmClassifier : public Model {
 public:
  LstmClassifier(const Lstm& lstm, std::int64_t outputs)
      : bidirectional_(lstm.bidirectional), net_(*this, lstm, outputs) {}

  torch::Tensor forward(const Batch& batch) override {
    const auto x = net_.embedded(batch.input, is_training());
    const auto last = std::get<0>(final_state(x, batch));  // [layers * directions, examples, hidden]
    const auto text = bidirectional_ ? torch::cat({last[-2], last[-1]}, -1) : last[-1];
    return net_.answered(text, is_training());
  }

 private:
  std::tuple<torch::Tensor, torch::Tensor> final_state(const torch::Tensor& x, const Batch& batch) {
    const auto mask = batch.extra.find("mask");
    if (mask == batch.extra.end()) return std::get<1>(net_.lstm(x));
    // Padding is not read, except in a text without tokens: a sequence has at least one element.
    const auto lengths = mask->second.to(torch::kCPU, torch::kInt64).sum(1).clamp_min(1);
    return std::get<1>(net_.lstm->forward_with_packed_input(torch::nn::utils::rnn::pack_padded_sequence(
        x, lengths, /*batch_first=*/true, /*enforce_sorted=*/false)));
  }

  bool bidirectional_;
  Recurrent net_;
};

class LstmLanguageModel : public LanguageModel {
 public:
  explicit LstmLanguageModel(const Lstm& lstm)
      : vocabulary_(lstm.vocabulary), net_(*this, lstm, lstm.vocabulary) {}

  torch::Tensor forward(const Batch& batch) override {
    const auto x = net_.embedded(batch.input, is_training());
    return net_.answered(std::get<0>(net_.lstm(x)), is_training());
  }

  torch::Tensor next(const torch::Tensor& tokens, KvCache& cache) override {
    std::optional<std::tuple<torch::Tensor, torch::Tensor>> state;
    if (!cache.layers.empty()) state = cache.layers.front();
    const auto [output, after] = net_.lstm(net_.embedded(tokens, is_training()), state);
    cache.layers = {{std::get<0>(after), std::get<1>(after)}};
    cache.length += tokens.size(1);
    return net_.answered(output.select(1, -1), is_training());
  }

  std::int64_t context() const override { return std::numeric_limits<std::int64_t>::max(); }
  std::int64_t vocabulary() const override { return vocabulary_; }

 private:
  std::int64_t vocabulary_;
  Recurrent net_;
};

ModelFacts facts(const Lstm&) { return {.tasks = {Task::sentences, Task::language_model}}; }

std::unique_ptr<Model> build(const Lstm& settings, const ModelInputs& inputs) {
  Lstm lstm = settings;
  lstm.vocabulary = vocabulary_size("lstm", settings.vocabulary, inputs.data);
  const bool for_tokens = inputs.data.target_shape == inputs.data.input_shape;
  if (settings.predict == Answer::token || (settings.predict == Answer::automatic && for_tokens)) {
    if (settings.bidirectional) {
      throw std::runtime_error(
          "Model \"lstm\": the dataset asks for the token that follows, which a bidirectional model would "
          "have read already.");
    }
    if (settings.num_classes != 0 && settings.num_classes != lstm.vocabulary) {
      throw std::runtime_error("Model \"lstm\": num_classes is " + std::to_string(settings.num_classes) +
                               ", but the outputs are the " + std::to_string(lstm.vocabulary) +
                               " tokens of the vocabulary; remove num_classes.");
    }
    return std::make_unique<LstmLanguageModel>(lstm);
  }
  return std::make_unique<LstmClassifier>(lstm, output_count("lstm", settings.num_classes, inputs.data));
}

const Registration<ModelKind> registration{
    "lstm", "A recurrent network that classifies texts, or predicts each next token.", &build};

}  // namespace
}  // namespace runner
