#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/script.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "components/models/model.hpp"
#include "components/models/torchscript_code.hpp"
#include "components/torch/operator_mode.hpp"
#include "components/torch/torch_error.hpp"
#include "registry/files/io_error.hpp"

namespace runner {
namespace {

struct Torchscript {
  std::filesystem::path file;
};
constexpr auto describe(std::type_identity<Torchscript>) {
  return fields(field(
      "file", &Torchscript::file,
      "A module written by torch.jit.save. Script it rather than trace it if it behaves differently in "
      "training. Its code runs here, so a recipe can only name a file in its own folder or on "
      "RUNNER_PLUGIN_PATH, as for plugins; the command line can name any file. Code that does more than "
      "compute with tensors is refused.",
      required(), non_empty(), holds_code()));
}

// The module's parameters and buffers are registered under their own names. They are the same tensors that
// the module's code uses.
class TorchscriptModel : public Model {
 public:
  TorchscriptModel(torch::jit::Module module, const DataSpec& data) : module_(std::move(module)) {
    std::set<torch::TensorImpl*> seen;
    mirror(*this, module_, seen);
    const auto is_kernel = [](const torch::Tensor& parameter) { return parameter.dim() == 4; };
    channels_last_ = data.input_shape.size() == 3 && std::ranges::any_of(parameters(), is_kernel);
    train(true);
  }

  torch::Tensor forward(const Batch& batch) override {
    const torch::IValue output = module_.forward({batch.input});
    if (!output.isTensor()) {
      throw std::runtime_error("A torchscript model has to return one tensor; this one returns " +
                               output.tagKind() + ".");
    }
    if (is_training()) follow_buffers();
    return output.toTensor();
  }

  bool prefers_channels_last() const override { return channels_last_; }

  void train(bool on = true) override {
    Model::train(on);
    module_.train(on);
  }

 private:
  struct Buffer {
    torch::jit::Module owner;
    std::string name;
    torch::Tensor tensor;
  };

  // A tensor or module that has two names is registered once, as in Python's named_parameters().
  void mirror(torch::nn::Module& into, const torch::jit::Module& from, std::set<torch::TensorImpl*>& seen) {
    for (const auto& item : from.named_parameters(/*recurse=*/false)) {
      if (!seen.insert(item.value.unsafeGetTensorImpl()).second) continue;
      into.register_parameter(item.name, item.value, item.value.requires_grad());
    }
    for (const auto& item : from.named_buffers(/*recurse=*/false)) {
      if (!seen.insert(item.value.unsafeGetTensorImpl()).second) continue;
      into.register_buffer(item.name, item.value);
      buffers_.push_back({from, item.name, item.value});
    }
    for (const auto& child : from.named_children()) {
      auto holder = std::make_shared<torch::nn::Module>();
      mirror(*holder, child.value, seen);
      if (!holder->named_parameters().is_empty() || !holder->named_buffers().is_empty()) {
        into.register_module(child.name, holder);
      }
    }
  }

  // `self.count = self.count + 1` in the module's code creates a new tensor: the registered one takes its
  // value and replaces it in the module.
  void follow_buffers() {
    for (Buffer& buffer : buffers_) {
      const torch::Tensor now = buffer.owner.attr(buffer.name).toTensor();
      if (now.is_same(buffer.tensor)) continue;
      buffer.tensor.set_data(now.detach());
      buffer.owner.setattr(buffer.name, buffer.tensor);
    }
  }

  torch::jit::Module module_;
  std::vector<Buffer> buffers_;
  bool channels_last_ = false;
};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error("Model \"torchscript\": " + file.string() + " " + why + ".");
}

// Runs a batch of zeros: only the module's code knows which shapes it accepts and returns.
void try_out(Model& model, const std::filesystem::path& file, const DataSpec& data) {
  std::vector<std::int64_t> shape = data.input_shape;
  shape.insert(shape.begin(), 2);
  const torch::NoGradGuard guard;
  model.eval();
  torch::Tensor output;
  try {
    output = model.forward({.input = torch::zeros(shape, data.input_type)});
  } catch (const std::exception& error) {
    fail(file, "cannot take the dataset's examples: " + reason_of(error));
  }
  model.train();
  if (data.classes > 0 && output.dim() == 2 && output.size(1) != data.classes) {
    fail(file, "has " + std::to_string(output.size(1)) + " outputs, but the dataset has " +
                   std::to_string(data.classes) + " classes");
  }
}

ModelFacts facts(const Torchscript&) { return {.brings_weights = true}; }

std::unique_ptr<Model> build(const Torchscript& settings, const ModelInputs& inputs) {
  if (settings.file.extension() == ".pt2")
    fail(settings.file, "was written by torch.export: use it as model.name = \"exported\"");
  const OperatorModePause real;  // the weights come from the file, even if other models are on meta
  torch::jit::Module module;
  try {
    module = load_code_without_effects(settings.file);
  } catch (const IoError& error) {
    throw;
  } catch (const std::runtime_error& error) {
    fail(settings.file, error.what());
  }
  auto model = std::make_unique<TorchscriptModel>(std::move(module), inputs.data);
  const auto parameters = model->parameters();
  if (parameters.empty())
    fail(settings.file, "has no parameters to train; save the module before torch.jit.freeze");
  if (!parameters.front().is_meta()) try_out(*model, settings.file, inputs.data);
  return model;
}

const Registration<ModelKind> registration{
    "torchscript", "Any module exported from Python by torch.jit.save, trained here.", &build};

}  // namespace
}  // namespace runner
