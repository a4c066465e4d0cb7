#include <map>
#include <stdexcept>

#include "components/models/exported/archive.hpp"
#include "components/models/exported/network.hpp"
#include "components/models/exported/write_program.hpp"
#include "components/models/language_model.hpp"
#include "components/models/program_writer.hpp"
#include "components/models/weights/weight_names.hpp"

namespace runner {
namespace {

struct Exported {
  std::filesystem::path file;
  std::string output;
};
constexpr auto describe(std::type_identity<Exported>) {
  return fields(
      field(
          "file", &Exported::file,
          "A program written by Python's torch.export.save, or by scripts/export_model.py, with its initial "
          "weights. Export the model in training mode and with a batch size that may vary. The file is data: "
          "operators other than PyTorch's own are refused.",
          required(), non_empty()),
      field(
          "output", &Exported::output,
          "Which of the tensors that the model returns the loss takes: its name, such as \"logits\", or its "
          "position. Needed only if there are several."));
}

// `Base` is Model or LanguageModel.
template <class Base>
class ExportedModel : public Base, public ProgramWriter, public WeightNames {
 public:
  ExportedModel(const Exported& settings, const DataSpec& data)
      : file_(settings.file), network_(settings.file, settings.output, data, *this) {}

  torch::Tensor forward(const Batch& batch) final { return network_.forward(batch, this->is_training()); }

  void write_program(const std::filesystem::path& out) const final {
    try {
      exported::write_program(file_, *this, out);
    } catch (const exported::Refusal& refusal) {
      throw std::runtime_error(file_.string() + " " + refusal.what() + ".");
    }
  }

  // A file may have a tied weight under one of its names only.
  void adapt(NamedWeights& weights) const final {
    std::map<const torch::TensorImpl*, std::string> present;
    const auto own = this->named_parameters();
    for (const auto& item : own)
      if (weights.contains(item.key())) present.emplace(item.value().unsafeGetTensorImpl(), item.key());
    for (const auto& item : own) {
      const auto other = present.find(item.value().unsafeGetTensorImpl());
      if (other != present.end() && !weights.contains(item.key()))
        weights[item.key()] = weights.at(other->second);
    }
  }

 protected:
  const exported::Network& network() const { return network_; }

 private:
  std::filesystem::path file_;
  exported::Network network_;
};

// The program keeps nothing of what it has seen: for every token it runs on all tokens again.
class ExportedLanguageModel final : public ExportedModel<LanguageModel> {
 public:
  ExportedLanguageModel(const Exported& settings, const DataSpec& data)
      : ExportedModel(settings, data), context_(data.input_shape.at(0)) {
    const exported::Dimension& positions = network().input().shape.at(1);
    fixed_ = positions.size >= 0;
    if (positions.high >= 0) context_ = positions.high;
  }

  torch::Tensor next(const torch::Tensor& tokens, KvCache& cache) override {
    torch::Tensor all = tokens;
    if (!cache.layers.empty()) all = torch::cat({cache.layers[0].first, tokens}, 1);
    cache.layers = {{all, torch::Tensor()}};
    cache.length = all.size(1);
    // A position does not depend on those after it, so what fills a program of fixed length is of no effect.
    const std::int64_t missing = fixed_ ? context_ - cache.length : 0;
    const torch::Tensor input = missing > 0 ? torch::constant_pad_nd(all, {0, missing}) : all;
    return forward({.input = input, .target = {}}).select(1, cache.length - 1);
  }

  std::int64_t context() const override { return context_; }
  std::int64_t vocabulary() const override { return network().output().shape.at(2).size; }

 private:
  std::int64_t context_;
  bool fixed_ = false;
};

// Tokens in, and a target for each of them.
bool predicts_tokens(const DataSpec& data) {
  return data.vocabulary > 0 && data.input_shape.size() == 1 && data.target_shape == data.input_shape;
}

std::unique_ptr<Model> build(const Exported& settings, const ModelInputs& inputs) {
  try {
    if (predicts_tokens(inputs.data)) return std::make_unique<ExportedLanguageModel>(settings, inputs.data);
    return std::make_unique<ExportedModel<Model>>(settings, inputs.data);
  } catch (const exported::Refusal& refusal) {
    throw std::runtime_error("Model \"exported\": " + settings.file.string() + " " + refusal.what() + ".");
  }
}

const Registration<ModelKind> registration{
    "exported", "Any model exported from Python by torch.export, trained here.", &build};

}  // namespace
}  // namespace runner
