#include "components/models/weights/peft_folder.hpp"

#include <stdexcept>

#include "components/weights/safetensors.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view prefix = "base_model.model.", base_layer = ".base_layer.",
                           original = ".original_module.", copy = ".modules_to_save.";

std::string peft_name(const Adaptation& adaptation, const std::string& name) {
  const std::string layer = name.substr(0, name.rfind('.'));
  const bool bias = name.ends_with(".bias") && adaptation.layers.contains(layer);
  return std::string(prefix) + (bias ? layer + std::string(base_layer) + "bias" : name);
}

}  // namespace

PeftFolder read_peft_folder(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "adapter_config.json", ignored))
    throw std::runtime_error("model.adapter.weights: " + escaped_name(folder.string()) +
                             " has no adapter_config.json, as PEFT writes it beside its weights.");
  PeftFolder read{folder, read_json_file(folder / "adapter_config.json")};
  if (!read.config.is_object())
    throw std::runtime_error("model.adapter.weights: adapter_config.json holds no settings.");
  return read;
}

std::vector<std::string> PeftFolder::names(const std::string& key) const {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return {};
  std::vector<std::string> listed;
  if (found->is_array())
    for (const Json& each : *found)
      if (each.is_string()) listed.push_back(each);
  if (!found->is_array() || listed.size() != found->size())
    throw std::runtime_error(
        "model.adapter.weights: " + escaped_name(key) + " = " + escaped_name(found->dump()) +
        " in adapter_config.json is not a list of names: name the layers in model.adapter." +
        (key == "target_modules" ? "targets" : "exclude") + ".");
  return listed;
}

WeightFiles PeftFolder::tensors() const {
  std::error_code ignored;
  const fs::path file = path / "adapter_model.safetensors";
  WeightFiles read = read_weight_files(fs::exists(file, ignored) ? file : path / "adapter_model.bin");
  std::map<std::string, torch::Tensor> own;
  const auto add = [&](std::string name, const torch::Tensor& tensor, bool replaces) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
    for (const std::string_view inner : {base_layer, copy})
      if (const auto at = name.find(inner); at != std::string::npos) name.erase(at, inner.size() - 1);
    if (replaces)
      own.insert_or_assign(name, tensor);
    else
      own.emplace(name, tensor);
  };
  for (const auto& [name, tensor] : read.tensors) {
    if (name.find(original) == std::string::npos) add(name, tensor, name.find(copy) != std::string::npos);
  }
  read.tensors = std::move(own);
  return read;
}

void write_peft_folder(const fs::path& folder, const Adaptation& adaptation,
                       const std::vector<NamedTensor>& weights) {
  std::vector<std::pair<std::string, torch::Tensor>> trained;
  for (const auto& [name, tensor] : weights)
    if (!adaptation.base.contains(name)) trained.emplace_back(peft_name(adaptation, name), tensor);
  fs::create_directories(folder);
  write_safetensors(folder / "adapter_model.safetensors", trained, {{"format", "pt"}});
  write_atomically(folder / "adapter_config.json", adaptation.config);
}

}  // namespace runner
