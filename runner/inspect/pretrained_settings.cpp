#include "runner/inspect/pretrained_settings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/models/model.hpp"
#include "components/models/weights/pretrained_config.hpp"
#include "components/torch/meta_mode.hpp"
#include "registry/base/wording.hpp"
#include "registry/conform.hpp"
#include "runner/toml/reference.hpp"

namespace runner {

namespace {

// Rows of tokens: the input of the models that HuggingFace has as well.
DataSpec tokens() {
  DataSpec data;
  data.input_shape = data.target_shape = {8};
  data.input_type = data.target_type = torch::kInt64;
  data.vocabulary = data.classes = 256;
  return data;
}

// The model with its default settings; null if it has required settings, or needs other data.
std::unique_ptr<Model> sketch(const Descriptor& descriptor, const Registry& registry) {
  if (descriptor.library) return nullptr;
  Diagnostics missing;
  const Value defaults = conform(Value(), descriptor.own_schema(), registry, missing);
  if (!missing.ok()) return nullptr;
  const Part<ModelKind> part(descriptor, {}, descriptor.decode(defaults, registry));
  MetaMode meta(MetaMode::most_of_a_model);
  const OperatorModeScope scope(meta);
  try {
    return part.build({tokens()});
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

PretrainedSettings pretrained_settings(const std::filesystem::path& folder, const Registry& registry) {
  const auto config = PretrainedConfig::beside(folder);
  if (!config) {
    throw std::runtime_error(escaped_name(folder.string()) +
                             " has no config.json of a model, as HuggingFace's save_pretrained writes it");
  }
  for (const Descriptor* descriptor : registry.of_kind(ModelKind::name)) {
    const auto model = sketch(*descriptor, registry);
    const auto* pretrained = dynamic_cast<const Pretrained*>(model.get());
    if (!pretrained) continue;
    PretrainedConfig differences = *config;
    pretrained->compare(differences);
    if (!differences.fits_kind()) continue;
    differences.require_possible();
    PretrainedSettings found{std::string(descriptor->name), {}};
    for (const auto& [setting, wanted] : differences.settings())
      found.overrides.push_back("model." + setting + "=" + wanted);
    found.overrides.push_back("model.weights=" + quote_toml(escape_references(folder.string())));
    return found;
  }
  throw std::runtime_error("No registered model fits " + escaped_name(folder.string()) +
                           ": its config.json is for " +
                           escaped_name(config->json().at("model_type").dump()));
}

}  // namespace runner
