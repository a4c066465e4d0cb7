#include "runner/predict/merge_adapter.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

#include "components/layers/linear.hpp"
#include "components/models/weights/load_weights.hpp"
#include "components/models/weights/model_weights.hpp"
#include "components/models/weights/weight_files.hpp"
#include "components/weights/sharded_safetensors.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/mapping_guard.hpp"
#include "runner/data/loader.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

// The type of the weights that the adapter was trained on: fp32 if they have several.
torch::ScalarType type_of_base(const fs::path& path) {
  std::optional<torch::ScalarType> type;
  for (const auto& [name, tensor] : read_weight_files(path).tensors) {
    if (!tensor.is_floating_point()) continue;
    if (type && *type != tensor.scalar_type()) return torch::kFloat;
    type = tensor.scalar_type();
  }
  return type.value_or(torch::kFloat);
}

bool holds_weights(const fs::path& file) {
  const std::string name = file.filename().string(), ending = file.extension().string();
  return name.ends_with(".index.json") || ending == ".safetensors" || ending == ".bin" || ending == ".pt" ||
         ending == ".pth" || ending == ".gguf" || ending == ".h5" || ending == ".msgpack" ||
         ending == ".onnx";
}

std::vector<Batch> first_batches(const TrainedRun& run, std::string& what) {
  constexpr std::size_t most = 4;
  std::vector<Batch> batches;
  try {
    const Splits data = open_data(run.recipe, learnt_data(run.folder));
    const Split& split = data.eval ? *data.eval : *data.train;
    Loader loader(split, {.batch_size = run.recipe.loader.batch_size, .workers = 0, .epochs = 1});
    while (batches.size() < most) {
      const auto loaded = loader.next();
      if (!loaded) break;
      Batch batch = loaded->batch;
      batch.input = batch.input.clone();
      batch.target = torch::Tensor();
      for (auto& [name, tensor] : batch.extra) tensor = tensor.clone();
      batches.push_back(std::move(batch));
    }
    what = data.eval ? "validation examples" : "training examples";
  } catch (const DataError& error) {
    log::warning("{} Random inputs are compared instead.", error.what());
    what = "random inputs";
    std::vector<std::int64_t> shape = run.data.input_shape;
    shape.insert(shape.begin(), 8);
    Batch& batch = batches.emplace_back();
    batch.input = run.data.vocabulary > 0 ? torch::randint(run.data.vocabulary, shape, torch::kInt64)
                                          : torch::randn(shape);
  }
  return batches;
}

}  // namespace

std::vector<NamedTensor> merged_weights(const TrainedRun& run) {
  const Model& model = *run.model;
  std::map<std::string, torch::Tensor> merged;
  for (const auto& item : model.named_modules("", /*include_self=*/false))
    if (const auto* layer = item.value()->as<LinearImpl>(); layer && layer->adapter()) {
      const torch::Tensor weight = layer->adapter()->merged(*layer);
      merged[item.key() + ".weight"] = layer->in_out() ? weight.t().contiguous() : weight;
    }
  const torch::ScalarType type = type_of_base(*run.recipe.model.common.weights);
  const std::shared_ptr<Model> bare = build_bare_model(run.recipe, run.data);  // has no adapter's names
  std::vector<NamedTensor> weights = ModelWeights(*bare).all();
  std::map<std::string, torch::Tensor> held;
  for (const auto& [name, tensor] : ModelWeights(model).all()) held[name] = tensor;
  for (auto& [name, tensor] : weights) {
    const auto found = merged.find(name);
    tensor = found != merged.end() ? found->second : held.at(name).detach();
    if (tensor.is_floating_point()) tensor = tensor.to(torch::kCPU, type);
  }
  return weights;
}

void write_merged_folder(const TrainedRun& run, const std::vector<NamedTensor>& weights,
                         const fs::path& folder) {
  const fs::path& base = *run.recipe.model.common.weights;
  std::error_code ignored;
  const fs::path beside = fs::is_directory(base, ignored) ? base : base.parent_path();
  fs::create_directories(folder);
  constexpr std::int64_t largest_shard = std::int64_t{5} << 30;
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const auto& [name, tensor] : weights) tensors.emplace_back(name, tensor);
  write_sharded_safetensors(folder, "model", tensors, largest_shard);
  for (const auto& entry : fs::directory_iterator(beside))
    if (entry.is_regular_file() && !holds_weights(entry.path()))
      fs::copy_file(entry.path(), folder / entry.path().filename(), fs::copy_options::overwrite_existing);
}

MergeProof prove_merged(const TrainedRun& run, const fs::path& written) {
  const torch::NoGradGuard no_grad;
  const std::shared_ptr<Model> read = build_bare_model(run.recipe, run.data);
  load_weights(*read, written, {});
  read->eval();
  read->to(run.engine.device());
  MergeProof proof;
  for (Batch& batch : first_batches(run, proof.inputs)) {
    batch.input = batch.input.to(run.engine.device());
    for (auto& [name, tensor] : batch.extra) tensor = tensor.to(run.engine.device());
    const torch::Tensor expected = run.model->forward(batch).to(torch::kDouble);
    const torch::Tensor found = read->forward(batch).to(torch::kDouble);
    const double difference = (found - expected).abs().max().item<double>();
    proof.difference = difference <= proof.difference ? proof.difference : difference;  // keeps NaN
    proof.largest = std::max(proof.largest, expected.abs().max().item<double>());
    proof.examples += batch.size();
  }
  // Rounding of the products in another order; and of the weights, if they are written in fewer bits.
  const bool exact = type_of_base(*run.recipe.model.common.weights) == torch::kFloat;
  proof.bound = (exact ? 1e-4 : 5e-2) * std::max(1.0, proof.largest);
  return proof;
}

}  // namespace runner
