#include "components/models/weights/weights_and_data.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/models/weights/pretrained_config.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/mapped_file.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void compare_classes(const std::vector<std::string>& theirs, const std::vector<std::string>& ours) {
  if (theirs.empty() || ours.empty() || theirs == ours) return;
  std::vector<std::string> sorted_theirs = theirs, sorted_ours = ours;
  std::ranges::sort(sorted_theirs);
  std::ranges::sort(sorted_ours);
  const std::string both = "the weights were trained with the classes " + listed(theirs) +
                           " (id2label in config.json), the dataset has " + listed(ours);
  if (sorted_theirs == sorted_ours)
    throw std::runtime_error(
        "model.weights: " + both +
        ": in this order every class would have another's name. Rename the classes of the "
        "dataset so that they sort in that order, or train a new head: "
        "model.replace = [\"classifier\"].");
  log::warning(
      "model.weights: {}. The head keeps its numbers; model.replace = [\"classifier\"] trains a new one.",
      both);
}

void compare_tokens(const fs::path& folder, std::int64_t embeddings, std::int64_t tokens) {
  if (tokens == 0 || embeddings == 0 || tokens == embeddings) return;
  std::error_code ignored;
  const fs::path file = folder / "tokenizer.json";
  if (!fs::exists(file, ignored)) {
    log::warning(
        "model.weights: the weights were trained with {} tokens, the dataset has {}: unless its tokenizer is "
        "that of the weights, a token means another word to the model.",
        embeddings, tokens);
    return;
  }
  try {  // vocabularies are often padded
    const MappedFile mapped(file);
    if (read_tokenizer(mapped.text(), file.string())->vocabulary() == tokens) return;
  } catch (const std::runtime_error&) {
    // It is unreadable, which is for dataset.tokenizer to say.
  }
  log::warning(
      "model.weights: the dataset has {} tokens, the weights {}, with a tokenizer of their own. Use it, or a "
      "token means another word to the model: dataset.tokenizer = {{ name = \"file\", path = {} }}.",
      tokens, embeddings, in_quotes(file.string()));
}

}  // namespace

std::vector<std::string> classes_of(const PretrainedConfig& config) {
  const Json* names = config.find("id2label");
  if (!names || !names->is_object()) return {};
  std::vector<std::string> classes;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto found = names->find(std::to_string(i));
    if (found == names->end() || !found->is_string()) return {};
    if (*found == "LABEL_" + std::to_string(i)) return {};  // what transformers writes for unnamed classes
    classes.push_back(*found);
  }
  return classes;
}

std::string config_of_trained(const ModelCommon& common, const DataSpec& data) {
  const auto config = common.weights ? PretrainedConfig::beside(*common.weights) : std::nullopt;
  if (!config) return "";
  nlohmann::ordered_json trained = config->json();
  if (!data.class_names.empty()) {
    trained["id2label"] = trained["label2id"] = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < data.class_names.size(); ++i) {
      trained["id2label"][std::to_string(i)] = data.class_names[i];
      trained["label2id"][data.class_names[i]] = i;
    }
  }
  return trained.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void compare_weights_with_data(const ModelCommon& common, const DataSpec& data) {
  if (!common.weights) return;
  const auto config = PretrainedConfig::beside(*common.weights);
  if (!config) return;
  if (common.replace.empty()) compare_classes(classes_of(*config), data.class_names);
  std::error_code ignored;
  const fs::path folder =
      fs::is_directory(*common.weights, ignored) ? *common.weights : common.weights->parent_path();
  compare_tokens(folder, config->integer("vocab_size", 0), data.vocabulary);
}

}  // namespace runner
