#include "components/models/weights/load_weights.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_set>

#include "components/contract/pattern.hpp"
#include "components/models/weights/adapt_model.hpp"
#include "components/models/weights/model_weights.hpp"
#include "components/models/weights/pretrained_config.hpp"
#include "components/models/weights/weight_names.hpp"
#include "components/torch/shape_text.hpp"
#include "components/weights/safetensors.hpp"
#include "components/weights/weights_checksum.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/mapping_guard.hpp"

namespace runner {

namespace {

using Tensors = std::map<std::string, torch::Tensor>;

// What wrappers add to every name: DataParallel and DistributedDataParallel, torch.compile (also in the
// middle of names, for a layer), Lightning.
void strip_wrappers(WeightFiles& contents, const std::vector<std::string>& own) {
  constexpr std::string_view compiled = "_orig_mod.";
  const auto any_own = [&](std::string_view part) {
    return std::ranges::any_of(own, [&](const std::string& name) { return name.find(part) != name.npos; });
  };
  if (!any_own(compiled))
    rename_all(contents.tensors, [&](const std::string& name) {
      std::string plain = name;
      for (auto at = plain.find(compiled); at != plain.npos; at = plain.find(compiled))
        plain.erase(at, compiled.size());
      return plain;
    });
  const auto strip = [&](std::string_view prefix) {
    const auto wrapped = [&](const auto& entry) { return entry.first.starts_with(prefix); };
    const auto has_it = [&](const std::string& name) { return name.starts_with(prefix); };
    if (contents.tensors.empty() || !std::ranges::all_of(contents.tensors, wrapped) ||
        std::ranges::any_of(own, has_it))
      return false;
    rename_all(contents.tensors, [&](const std::string& name) { return name.substr(prefix.size()); });
    return true;
  };
  while (strip("module.") || strip("model.")) {
  }
}

std::vector<std::pair<std::string, torch::Tensor>> named_tensors(const torch::nn::Module& model) {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  const Adaptation* adaptation = adaptation_of(model);  // then the file holds what was trained
  for (const auto& item : model.named_parameters())
    if (!adaptation || !adaptation->base.contains(item.key())) all.emplace_back(item.key(), item.value());
  for (const auto& item : model.named_buffers()) all.emplace_back(item.key(), item.value());
  return all;
}

// Files from before PyTorch 0.4.1, such as many of torchvision's, have no counters of batches. If a file has
// no such counter at all, they are not reported as missing.
bool counts_batches(const std::string& name) { return name.ends_with("num_batches_tracked"); }

bool counts_batches(const Tensors& tensors) {
  return std::ranges::any_of(tensors, [](const auto& entry) { return counts_batches(entry.first); });
}

// The first names and how many more there are: a file for another model differs in hundreds of them.
std::string list_of(std::string_view title, const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  if (names.empty()) return "";
  std::string text = "\n  " + std::string(title) + " (" + std::to_string(names.size()) + "):";
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += "\n    " + names[i];
  if (names.size() > most) text += "\n    .. and " + std::to_string(names.size() - most) + " more";
  return text;
}

// The parts of the model that the file has not, or has in another shape: "fc" of "fc.weight [10, 512]".
std::set<std::string> unfitting_parts(const LoadSummary& summary) {
  std::set<std::string> parts;
  for (const auto* names : {&summary.missing, &summary.misshapen})
    for (const std::string& name : *names) {
      const std::string whole = name.substr(0, name.find_first_of(" :"));
      parts.insert(whole.substr(0, whole.rfind('.')));
    }
  return parts;
}

// What to set; nothing if the file is for another model.
std::string remedy(const LoadSummary& summary, std::size_t fitting, std::size_t all) {
  if (2 * fitting < all) return "\nIt is a file for another model, or in another program's layout.";
  constexpr std::size_t most = 4;
  const std::set<std::string> parts = unfitting_parts(summary);
  std::string text = "\nmodel.strict = false loads what fits";
  if (parts.empty() || parts.size() > most) return text + ".";
  std::vector<std::string> quoted;
  for (const std::string& part : parts) quoted.push_back(in_quotes(part));
  return text + "; model.replace = [" + joined(quoted) + "] trains these parts anew.";
}

bool selected(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return selects(pattern, name); });
}

void require_matches(std::string_view setting, const std::vector<std::string>& patterns,
                     const std::vector<std::string>& names) {
  std::string problems;
  for (const std::string& pattern : patterns) {
    const auto hit = [&](const std::string& name) { return selects(pattern, name); };
    if (std::ranges::any_of(names, hit)) continue;
    problems += (problems.empty() ? "" : "\n") + nothing_selected(setting, pattern, names);
  }
  if (!problems.empty()) throw std::runtime_error(problems);
}

}  // namespace

std::string LoadSummary::text() const {
  std::string line = std::to_string(loaded) + " tensors loaded from a " + format + " file";
  if (!replaced.empty())
    line += ", " + std::to_string(replaced.size()) + " left as initialised (model.replace)";
  return line + differences();
}

std::string LoadSummary::differences() const {
  return list_of("missing in the file", missing) + list_of("not in the model", unexpected) +
         list_of("of another shape", misshapen);
}

WeightMatch match_weights(const torch::nn::Module& model, const std::filesystem::path& path,
                          const ModelCommon& common, const RenameWeight& rename) {
  const auto own = named_tensors(model);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : own) names.push_back(name);
  require_matches("model.replace", common.replace, names);

  if (auto config = PretrainedConfig::beside(path)) {
    if (const auto* pretrained = dynamic_cast<const Pretrained*>(&model)) {
      pretrained->compare(*config);
      config->finish();
    }
  }
  WeightFiles contents = read_weight_files(path);
  strip_wrappers(contents, names);
  if (rename) rename_all(contents.tensors, rename);
  if (const auto* namer = dynamic_cast<const WeightNames*>(&model)) namer->adapt(contents.tensors);
  const bool counters = counts_batches(contents.tensors);
  LoadSummary summary{.format = contents.format};
  std::vector<WeightMatch::Pair> pairs;
  for (const auto& [name, tensor] : own) {
    const auto found = contents.tensors.find(name);
    if (selected(common.replace, name)) {
      summary.replaced.push_back(name);
    } else if (found == contents.tensors.end()) {
      if (!counters && counts_batches(name)) continue;
      summary.missing.push_back(escaped_name(name) + " " + shape_text(tensor.sizes()));
    } else if (found->second.sizes() != tensor.sizes()) {
      summary.misshapen.push_back(escaped_name(name) + ": " + shape_text(found->second.sizes()) +
                                  " in the file, " + shape_text(tensor.sizes()) + " in the model");
    } else {
      pairs.push_back({name, tensor, found->second});
    }
  }
  // The file may have other tensors under the replaced prefixes: those of its own head.
  const std::unordered_set<std::string> known(names.begin(), names.end());
  for (const auto& [name, tensor] : contents.tensors) {
    if (!known.contains(name) && !selected(common.replace, name)) {
      summary.unexpected.push_back(escaped_name(name) + " " + shape_text(tensor.sizes()));
    }
  }
  for (const std::string& name : contents.others)
    summary.unexpected.push_back(escaped_name(name) + " (not a tensor)");

  if (common.strict && !summary.differences().empty()) {
    throw std::runtime_error("The weights in " + path.string() + " do not fit the model:" +
                             summary.differences() + remedy(summary, pairs.size(), own.size()));
  }
  if (pairs.empty() && summary.replaced.size() != own.size()) {
    throw std::runtime_error("Nothing in " + path.string() + " fits the model:" + summary.differences());
  }
  summary.loaded = pairs.size();
  std::ranges::sort(pairs, std::less(),
                    [](const WeightMatch::Pair& pair) { return pair.from.const_data_ptr(); });
  return {std::move(contents), std::move(pairs), std::move(summary)};
}

LoadSummary load_weights(torch::nn::Module& model, const std::filesystem::path& path,
                         const ModelCommon& common, const RenameWeight& rename) {
  const WeightMatch match = match_weights(model, path, common, rename);
  const torch::NoGradGuard guard;
  for (const WeightMatch::Pair& pair : match.pairs) {
    torch::Tensor(pair.into).copy_(pair.from);
    match.files.give_back(pair.from);
  }
  require_whole_files();
  return match.summary;
}

void save_weights(const std::vector<NamedTensor>& weights, const std::filesystem::path& path,
                  std::map<std::string, std::string> metadata) {
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const auto& [name, tensor] : weights) tensors.emplace_back(name, tensor);
  metadata["format"] = "pt";
  metadata[checksum_key] = weights_checksum({tensors.begin(), tensors.end()}, metadata);
  write_safetensors(path, tensors, metadata);
}

std::vector<std::string> freeze_parameters(Model& model, const std::vector<std::string>& patterns) {
  std::vector<std::string> names, frozen;
  for (const auto& item : model.named_parameters()) names.push_back(item.key());
  require_matches("model.freeze", patterns, names);
  for (auto& item : model.named_parameters()) {
    if (!selected(patterns, item.key())) continue;
    item.value().set_requires_grad(false);
    frozen.push_back(item.key());
  }
  return frozen;
}

void check(const ModelCommon& common, Report& report) {
  if (common.adapter && !common.weights)
    report.error("adapter", "needs model.weights: the model that it adapts is not trained itself");
}

std::unique_ptr<Model> build_structure(const Part<ModelKind>& part, const DataSpec& data) {
  return part.build({data, part.common.weights});
}

std::optional<LoadSummary> apply_common(Model& model, const ModelCommon& common) {
  std::optional<LoadSummary> summary;
  if (common.weights) {
    summary = load_weights(model, *common.weights, common);
  } else if (!common.replace.empty()) {
    throw std::runtime_error(
        "model.replace has no effect without model.weights, from which it excludes parts.");
  }
  if (common.adapter) adapt_model(model, *common.adapter, *common.weights);
  freeze_parameters(model, common.freeze);
  return summary;
}

}  // namespace runner
