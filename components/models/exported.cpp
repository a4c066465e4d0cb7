#include <stdexcept>

#include "components/models/exported/archive.hpp"
#include "components/models/exported/network.hpp"
#include "components/models/language_model.hpp"

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

class ExportedModel final : public Model {
 public:
  ExportedModel(const Exported& settings, const DataSpec& data)
      : network_(settings.file, settings.output, data, *this) {}

  torch::Tensor forward(const Batch& batch) override { return network_.forward(batch, is_training()); }
  const exported::Network& network() const { return network_; }

 private:
  exported::Network network_;
};

std::unique_ptr<Model> build(const Exported& settings, const ModelInputs& inputs) {
  try {
    return std::make_unique<ExportedModel>(settings, inputs.data);
  } catch (const exported::Refusal& refusal) {
    throw std::runtime_error("Model \"exported\": " + settings.file.string() + " " + refusal.what() + ".");
  }
}

const Registration<ModelKind> registration{
    "exported", "Any model exported from Python by torch.export, trained here.", &build};

}  // namespace
}  // namespace runner
