#include "components/models/weights/adapt_model.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/contract/pattern.hpp"
#include "components/models/language_model.hpp"
#include "components/models/weights/peft_folder.hpp"
#include "components/torch/shape_text.hpp"
#include "components/weights/weights_checksum.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/mapping_guard.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Layers = std::vector<std::pair<std::string, std::shared_ptr<LinearImpl>>>;

bool any_selects(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns,
                             [&](const std::string& pattern) { return selects_layer(pattern, name); });
}

Layers linear_layers(const Model& model) {
  Layers found;
  for (const auto& item : model.named_modules("", /*include_self=*/false))
    if (auto layer = std::dynamic_pointer_cast<LinearImpl>(item.value()))
      found.emplace_back(item.key(), std::move(layer));
  return found;
}

std::string layers_text(const Layers& layers) {
  std::vector<std::string> names;
  for (const auto& [name, layer] : layers) names.push_back(name);
  return names.empty() ? "the model has no linear layer in which an adapter can sit"
                       : "an adapter can sit in " + listed(names);
}

void require_selected(std::string_view setting, const std::vector<std::string>& patterns,
                      const Layers& layers) {
  for (const std::string& pattern : patterns) {
    const auto hit = [&](const auto& layer) { return selects_layer(pattern, layer.first); };
    if (std::ranges::any_of(layers, hit)) continue;
    throw std::runtime_error("model.adapter." + std::string(setting) + ": " + in_quotes(pattern) +
                             " selects no layer; " + layers_text(layers) + ".");
  }
}

// A part that is trained whole: "classifier" selects "classifier.weight", and "score" "model.score.bias".
bool selects_part(std::string_view pattern, std::string_view parameter) {
  return selects(pattern, parameter) || selects("*." + std::string(pattern), parameter);
}

bool is_whole(const AdapterCommon& common, const std::string& parameter) {
  return std::ranges::any_of(common.modules_to_save,
                             [&](const std::string& pattern) { return selects_part(pattern, parameter); });
}

void require_parts(const AdapterCommon& common, const Model& model) {
  std::vector<std::string> names;
  for (const auto& item : model.named_parameters()) names.push_back(item.key());
  for (const std::string& pattern : common.modules_to_save)
    if (std::ranges::none_of(names, [&](const auto& name) { return selects_part(pattern, name); }))
      throw std::runtime_error(nothing_selected("model.adapter.modules_to_save", pattern, names));
}

// The recipe's settings, and where they are silent, those of the folder to start from.
AdapterCommon settled(AdapterCommon common, const std::optional<PeftFolder>& folder, const Model& model,
                      const Layers& layers) {
  if (folder) {
    if (common.targets.empty()) common.targets = folder->names("target_modules");
    if (common.exclude.empty()) common.exclude = folder->names("exclude_modules");
    if (common.modules_to_save.empty()) {
      common.modules_to_save = folder->names("modules_to_save");
      // PEFT lists the usual names of heads, whether or not the model has them.
      std::erase_if(common.modules_to_save, [&](const std::string& pattern) {
        return std::ranges::none_of(model.named_parameters(), [&](const auto& parameter) {
          return selects_part(pattern, parameter.key());
        });
      });
    }
  }
  if (common.targets.empty()) common.targets = model.adapter_targets();
  if (common.targets.empty())
    throw std::runtime_error("model.adapter.targets: the model has no usual targets, so name the layers; " +
                             layers_text(layers) + ".");
  return common;
}

void load_adapter(Model& model, const Adaptation& adaptation, const PeftFolder& folder) {
  const WeightFiles files = folder.tensors();
  std::string problems;
  std::map<std::string, torch::Tensor> trained;
  for (const auto& item : model.named_parameters())
    if (!adaptation.base.contains(item.key())) trained.emplace(item.key(), item.value());
  for (const auto& [name, tensor] : files.tensors)
    if (!trained.contains(name)) problems += "\n  not in the model: " + escaped_name(name);
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : trained) {
    const auto found = files.tensors.find(name);
    if (found == files.tensors.end())
      problems += "\n  missing in the folder: " + escaped_name(name);
    else if (found->second.sizes() != tensor.sizes())
      problems += "\n  of another shape: " + escaped_name(name) + ", " + shape_text(found->second.sizes()) +
                  " in the folder, " + shape_text(tensor.sizes()) + " in the model";
  }
  if (!problems.empty())
    throw std::runtime_error("The adapter in " + escaped_name(folder.path.string()) +
                             " does not fit the model:" + shown_message(problems));
  for (auto& [name, tensor] : trained) tensor.copy_(files.tensors.at(name));
  require_whole_files();
}

std::string checksum_of(const Model& model, const std::set<std::string>& base) {
  std::map<std::string, torch::Tensor> tensors;
  for (const auto& item : model.named_parameters()) {
    if (item.value().is_meta()) return "";
    if (base.contains(item.key())) tensors.emplace(item.key(), item.value().detach());
  }
  return weights_checksum(tensors);
}

std::string config_text(const Adapter& adapter, const AdapterCommon& common, const Layers& adapted,
                        const Model& model, const fs::path& base) {
  Json config = adapter.peft_config();
  const auto plain = [](const std::string& pattern) {
    return pattern.find_first_of("*?") == std::string::npos;
  };
  std::vector<std::string> names;
  for (const auto& [name, layer] : adapted) names.push_back(name);
  // PEFT has no patterns, but matches the ends of names, too.
  const bool same = std::ranges::all_of(common.targets, plain) && std::ranges::all_of(common.exclude, plain);
  config["target_modules"] = same ? common.targets : names;
  config["exclude_modules"] = same && !common.exclude.empty() ? Json(common.exclude) : Json();
  config["fan_in_fan_out"] =
      std::ranges::any_of(adapted, [](const auto& layer) { return layer.second->in_out(); });
  config["modules_to_save"] = nullptr;
  if (!common.modules_to_save.empty()) {
    if (!std::ranges::all_of(common.modules_to_save, plain))
      throw std::runtime_error(
          "model.adapter.modules_to_save: PEFT knows no patterns here, so name each part that is trained "
          "whole.");
    config["modules_to_save"] = common.modules_to_save;
  }
  config["task_type"] = dynamic_cast<const LanguageModel*>(&model) ? Json("CAUSAL_LM") : Json();
  std::error_code ignored;
  config["base_model_name_or_path"] =
      fs::is_directory(base, ignored) ? Json(fs::absolute(base, ignored).string()) : Json();
  config["inference_mode"] = true;
  return config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void adapt(Model& model, const Part<AdapterKind>& part, const fs::path& base, bool with_values) {
  const Layers layers = linear_layers(model);
  std::optional<PeftFolder> folder;
  if (part.common.weights) folder = read_peft_folder(*part.common.weights);
  const AdapterCommon common = settled(part.common, folder, model, layers);
  require_selected("targets", common.targets, layers);
  require_selected("exclude", common.exclude, layers);
  require_parts(common, model);
  const auto adapter = part.build({folder ? &folder->config : nullptr});

  auto adaptation = std::make_shared<Adaptation>();
  for (auto& item : model.named_parameters()) adaptation->base.insert(item.key());
  Layers adapted;
  for (const auto& [name, layer] : layers) {
    if (!any_selects(common.targets, name) || any_selects(common.exclude, name)) continue;
    if (is_whole(common, name + ".weight")) continue;
    layer->adapt(adapter->sit_in(*layer, name));
    adapted.emplace_back(name, layer);
  }
  if (adapted.empty())
    throw std::runtime_error("model.adapter: no layer is left for an adapter; " + layers_text(layers) + ".");
  for (const auto& [name, layer] : adapted) adaptation->layers.insert(name);
  const auto adapts = [&](const std::string& parameter) {
    return adaptation->layers.contains(parameter.substr(0, parameter.rfind('.')));
  };
  std::erase_if(adaptation->base, [&](const std::string& name) {
    return is_whole(common, name) || adapter->trains(name, adapts(name));
  });
  for (auto& item : model.named_parameters())
    item.value().set_requires_grad(!adaptation->base.contains(item.key()));
  adaptation->config = config_text(*adapter, common, adapted, model, base);
  if (with_values && folder) load_adapter(model, *adaptation, *folder);
  if (with_values) adaptation->base_checksum = checksum_of(model, adaptation->base);
  model.adaptation = std::move(adaptation);
}

}  // namespace

void adapt_model(Model& model, const Part<AdapterKind>& part, const fs::path& base) {
  adapt(model, part, base, /*with_values=*/true);
}

void adapt_sketch(Model& model, const Part<AdapterKind>& part) {
  adapt(model, part, {}, /*with_values=*/false);
}

}  // namespace runner
