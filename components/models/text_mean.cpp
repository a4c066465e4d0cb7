#include <torch/nn/modules/embedding.h>

#include "components/layers/linear.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

struct TextMean {
  std::int64_t width = 64;
  std::int64_t hidden = 0;
  double dropout = 0.0;
  std::int64_t vocabulary = 0;
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<TextMean>) {
  return fields(
      field("width", &TextMean::width, "Size of the token embeddings.", within(1, 1 << 20)),
      field("hidden", &TextMean::hidden, "Width of a hidden layer; 0: none.", within(0, 1 << 20)),
      field("dropout", &TextMean::dropout, "Dropout before each layer.", within(0, 1), changes_course()),
      field("vocabulary", &TextMean::vocabulary, "Size of the vocabulary; 0: that of the dataset.",
            within(0, 1 << 20)),
      field("num_classes", &TextMean::num_classes, "Outputs; 0: as many as the dataset has classes.",
            within(0, 1 << 20)));
}

// Classifies the mean of the embeddings of a text's tokens (Joulin et al. 2016,
// https://arxiv.org/abs/1607.01759).
class TextMeanModel : public Model {
 public:
  TextMeanModel(const TextMean& settings, std::int64_t outputs)
      : dropout_(settings.dropout),
        embedding(register_module("embedding", torch::nn::Embedding(settings.vocabulary, settings.width))) {
    if (settings.hidden > 0) fc1 = register_module("fc1", Linear(settings.width, settings.hidden));
    fc = register_module("fc", Linear(settings.hidden > 0 ? settings.hidden : settings.width, outputs));
  }

  torch::Tensor forward(const Batch& batch) override {
    auto x = dropped(mean(embedding(batch.input), batch));
    if (fc1) x = dropped(torch::relu(fc1(x)));
    return fc(x);
  }

 private:
  static torch::Tensor mean(const torch::Tensor& x, const Batch& batch) {
    const auto mask = batch.extra.find("mask");
    if (mask == batch.extra.end()) return x.mean(1);
    const auto weight = mask->second.to(x.scalar_type());
    return torch::bmm(weight.unsqueeze(1), x).squeeze(1) / weight.sum(1, true).clamp_min(1);
  }
  torch::Tensor dropped(const torch::Tensor& x) const { return torch::dropout(x, dropout_, is_training()); }

  double dropout_;
  torch::nn::Embedding embedding;
  Linear fc1{nullptr}, fc{nullptr};
};

ModelFacts facts(const TextMean&) { return {.tasks = {Task::sentences}}; }

std::unique_ptr<Model> build(const TextMean& settings, const ModelInputs& inputs) {
  TextMean text = settings;
  text.vocabulary = vocabulary_size("text_mean", settings.vocabulary, inputs.data);
  return std::make_unique<TextMeanModel>(text, output_count("text_mean", settings.num_classes, inputs.data));
}

const Registration<ModelKind> registration{
    "text_mean", "Classifies a text by the mean of its tokens' embeddings: small and fast.", &build};

}  // namespace
}  // namespace runner
