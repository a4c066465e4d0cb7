#include "runner/inspect/pretrained_settings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "components/models/model.hpp"
#include "components/models/weights/pretrained_config.hpp"
#include "components/models/weights/weights_and_data.hpp"
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
  data.vocabulary = 1;
  data.classes = 2;
  return data;
}

// The model with its default settings.
std::unique_ptr<Model> sketch(const Descriptor& descriptor, const Registry& registry,
                              const std::filesystem::path& folder) {
  Diagnostics missing;
  const Value defaults = conform(Value(), descriptor.own_schema(), registry, missing);
  const Part<ModelKind> part(descriptor, {}, descriptor.decode(defaults, registry));
  MetaMode meta(MetaMode::most_of_a_model);
  const OperatorModeScope scope(meta);
  return part.build({tokens(), folder});
}

}  // namespace

PretrainedSettings pretrained_settings(const std::filesystem::path& folder, const Registry& registry) {
  const auto config = PretrainedConfig::beside(folder);
  if (!config) {
    throw std::runtime_error(escaped_name(folder.string()) +
                             " has no config.json of a model, as HuggingFace's save_pretrained writes it");
  }
  const std::string type = config->text("model_type", "");
  std::set<std::string> known;
  for (const Descriptor* descriptor : registry.of_kind(ModelKind::name)) {
    const auto types = facts_of<ModelKind>(*descriptor, registry).pretrained_types;
    known.insert(types.begin(), types.end());
    if (std::ranges::find(types, type) == types.end()) continue;
    const auto model = sketch(*descriptor, registry, folder);
    PretrainedConfig differences = *config;
    if (const auto* pretrained = dynamic_cast<const Pretrained*>(model.get()))
      pretrained->compare(differences);
    differences.require_possible();
    PretrainedSettings found{std::string(descriptor->name), {}};
    for (const auto& [setting, wanted] : differences.settings())
      found.overrides.push_back("model." + setting + "=" + wanted);
    found.overrides.push_back("model.weights=" + quote_toml(escape_references(folder.string())));
    std::error_code ignored;
    if (const auto file = folder / "tokenizer.json"; std::filesystem::exists(file, ignored))
      found.tokenizer = "{ name = \"file\", path = " + quote_toml(escape_references(file.string())) + " }";
    found.classes = classes_of(*config);
    return found;
  }
  throw std::runtime_error("No model here fits " + escaped_name(folder.string()) +
                           ": its config.json has model_type = " + in_quotes(type) +
                           "; there are models for " + joined({known.begin(), known.end()}) + ".");
}

}  // namespace runner
