#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "components/adapters/adapter.hpp"
#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/contract/task.hpp"
#include "registry/component.hpp"

namespace runner {

// What an adapter made of a model.
struct Adaptation {
  std::set<std::string> base;  // parameters that stay as model.weights has them: checkpoints do not hold them
  std::string base_checksum = {};  // of their values; empty: this process has none
  std::set<std::string> layers = {};
  std::string config = {};  // adapter_config.json, as PEFT writes it
};

// A network. Parameter names are those of the Python model of the same name, so that weights can be
// exchanged.
//   struct MyModel { std::int64_t width = 64; };
//   constexpr auto describe(std::type_identity<MyModel>) {
//     return fields(field("width", &MyModel::width, "Units of the hidden layer.", at_least(1)));
//   }
//   class MyNet final : public Model { torch::Tensor forward(const Batch& batch) override; .. };
//   std::unique_ptr<Model> build(const MyModel& settings, const ModelInputs& inputs) {
//     return std::make_unique<MyNet>(settings, inputs.data);
//   }
//   const Registration<ModelKind> registration{"my_model", "One hidden layer.", &build};
class Model : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const Batch& batch) = 0;
  virtual bool prefers_channels_last() const { return false; }  // convolutional networks do
  // Layers in which an adapter sits if the recipe names none, as PEFT chooses them; empty: it has to.
  virtual std::vector<std::string> adapter_targets() const { return {}; }

  std::shared_ptr<const Adaptation> adaptation;  // null: no adapter
};

struct ModelInputs {
  DataSpec data;                                      // after transforms: what one example will look like
  std::optional<std::filesystem::path> weights = {};  // model.weights; loaded after the model is built
};

struct ModelCommon {
  std::optional<std::filesystem::path> weights;
  bool strict = true;
  std::vector<std::string> replace;
  std::vector<std::string> freeze;
  std::optional<Part<AdapterKind>> adapter = {};
};
constexpr auto describe(std::type_identity<ModelCommon>) {
  return fields(
      field("weights", &ModelCommon::weights,
            "Initial weights: a safetensors file, one written by Python's torch.save (read without "
            "executing it), or a folder written by HuggingFace's save_pretrained. A config.json in "
            "the same folder must match the settings of the model.",
            harmless()),
      field("strict", &ModelCommon::strict,
            "Every weight must be in the file, with the same shape, and the file must contain nothing else.",
            harmless()),
      field("replace", &ModelCommon::replace,
            "Parts not taken from the weights file but newly initialised, by name prefix: a new "
            "head is [\"fc\"].",
            harmless()),
      field("freeze", &ModelCommon::freeze,
            "Parameters that are not trained, by pattern: [\"layer1.*\", \"*.bias\"].", fixed()),
      field("adapter", &ModelCommon::adapter,
            "Train small parts in the layers of the model, and nothing else of it.", fixed()));
}
void check(const ModelCommon& common, Report& report);

struct ModelKind {
  static constexpr std::string_view name = "model";
  static constexpr std::string_view summary = "The network to train.";
  static constexpr KindOnResume on_resume{.part = OnResume::fixed, .parameters = OnResume::fixed};
  using Product = Model;
  using Inputs = ModelInputs;
  using Common = ModelCommon;
  using Facts = ModelFacts;
};

}  // namespace runner
