#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/embedding.h>

#include <algorithm>
#include <stdexcept>

#include "components/layers/linear.hpp"
#include "components/models/data_fit.hpp"
#include "components/models/model.hpp"

namespace runner {
namespace {

struct Tabular {
  std::vector<std::int64_t> hidden = {128, 64};
  std::int64_t embedding = 0;
  double dropout = 0.0;
  bool batch_norm = false;
  std::int64_t num_classes = 0;
};
constexpr auto describe(std::type_identity<Tabular>) {
  return fields(
      field("hidden", &Tabular::hidden, "Width of each hidden layer; none: a linear model.",
            within(1, 1 << 20)),
      field("embedding", &Tabular::embedding,
            "Size of the embedding of a categorical column; 0: half its number of values, at most 50.",
            within(0, 1 << 20)),
      field("dropout", &Tabular::dropout, "Dropout after each hidden layer.", within(0, 1), changes_course()),
      field("batch_norm", &Tabular::batch_norm, "Normalise each hidden layer over the batch."),
      field("num_classes", &Tabular::num_classes, "Outputs; 0: as many as the dataset has classes.",
            within(0, 1 << 20)));
}

// Numbers and embeddings of categories (Guo and Berkhahn 2016, https://arxiv.org/abs/1604.06737), then fully
// connected layers.
class TabularModel : public Model {
 public:
  TabularModel(const Tabular& settings, const DataSpec& data, std::int64_t outputs)
      : dropout_(settings.dropout) {
    std::int64_t inputs = data.input_shape[0];
    auto columns = register_module("embeddings", std::make_shared<torch::nn::Module>());
    for (const std::int64_t values : data.categories) {
      const std::int64_t width =
          settings.embedding > 0 ? settings.embedding : std::clamp<std::int64_t>((values + 1) / 2, 1, 50);
      embeddings_.push_back(
          columns->register_module(std::to_string(embeddings_.size()), torch::nn::Embedding(values, width)));
      inputs += width;
    }
    for (std::size_t i = 0; i < settings.hidden.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      layers_.push_back(register_module("fc" + number, Linear(inputs, settings.hidden[i])));
      inputs = settings.hidden[i];
      if (settings.batch_norm)
        norms_.push_back(register_module("bn" + number, torch::nn::BatchNorm1d(inputs)));
    }
    head = register_module("head", Linear(inputs, outputs));
  }

  torch::Tensor forward(const Batch& batch) override {
    auto x = inputs_of(batch);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i](x);
      if (!norms_.empty()) x = norms_[i](x);
      x = torch::dropout(torch::relu(x), dropout_, is_training());
    }
    return head(x);
  }

 private:
  torch::Tensor inputs_of(const Batch& batch) {
    if (embeddings_.empty()) return batch.input;
    const auto found = batch.extra.find("categories");
    if (found == batch.extra.end()) {
      throw std::runtime_error(
          "Model \"tabular\": the batch has no \"categories\", though the dataset has some.");
    }
    std::vector<torch::Tensor> parts{batch.input};
    for (std::size_t i = 0; i < embeddings_.size(); ++i) {
      parts.push_back(embeddings_[i](found->second.select(1, static_cast<std::int64_t>(i))));
    }
    return torch::cat(parts, 1);
  }

  double dropout_;
  std::vector<torch::nn::Embedding> embeddings_;
  std::vector<Linear> layers_;
  std::vector<torch::nn::BatchNorm1d> norms_;
  Linear head{nullptr};
};

ModelFacts facts(const Tabular&) { return {.tasks = {Task::table}}; }

std::unique_ptr<Model> build(const Tabular& settings, const ModelInputs& inputs) {
  const DataSpec& data = inputs.data;
  if (data.input_shape.size() != 1 || !torch::isFloatingType(data.input_type)) {
    throw std::runtime_error(
        "Model \"tabular\": it needs rows of numbers and categories, as the csv dataset gives them.");
  }
  if (data.input_shape[0] < 1 && data.categories.empty()) {
    throw std::runtime_error("Model \"tabular\": the dataset's rows hold neither numbers nor categories.");
  }
  return std::make_unique<TabularModel>(settings, data, output_count("tabular", settings.num_classes, data));
}

const Registration<ModelKind> registration{
    "tabular", "For tables: the numbers and embeddings of the categories, then fully connected layers.",
    &build};

}  // namespace
}  // namespace runner
