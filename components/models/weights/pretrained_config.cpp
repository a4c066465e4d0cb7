#include "components/models/weights/pretrained_config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"
#include "registry/value.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;

template <class T>
std::string toml(const T& value) {
  return to_toml(Value(Value::Data(value)));
}

}  // namespace

PretrainedConfig::PretrainedConfig(std::filesystem::path path, Json json)
    : path_(std::move(path)), json_(std::make_shared<const Json>(std::move(json))) {}

std::optional<PretrainedConfig> PretrainedConfig::beside(const std::filesystem::path& weights) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(weights, ignored);
  const std::filesystem::path path = (folder ? weights : weights.parent_path()) / "config.json";
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  Json json = read_json_file(path);
  // Other programs use the name config.json, too.
  if (!json.is_object() || !json.contains("model_type") || json["model_type"].is_null()) return std::nullopt;
  return PretrainedConfig(path, std::move(json));
}

const Json* PretrainedConfig::find(const std::string& key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

void PretrainedConfig::malformed(const std::string& key) const {
  throw std::runtime_error(escaped_name(path_.string()) + ": " + key +
                           " has the wrong type: " + escaped_name(find(key)->dump()) + ".");
}

std::int64_t PretrainedConfig::integer(const std::string& key, std::int64_t fallback) const {
  const Json* held = find(key);
  if (held && !held->is_number_integer()) malformed(key);
  return held ? held->get<std::int64_t>() : fallback;
}

double PretrainedConfig::number(const std::string& key, double fallback) const {
  const Json* held = find(key);
  if (held && !held->is_number()) malformed(key);
  return held ? held->get<double>() : fallback;
}

bool PretrainedConfig::flag(const std::string& key, bool fallback) const {
  const Json* held = find(key);
  if (held && !held->is_boolean()) malformed(key);
  return held ? held->get<bool>() : fallback;
}

std::string PretrainedConfig::text(const std::string& key, const std::string& fallback) const {
  const Json* held = find(key);
  if (held && !held->is_string()) malformed(key);
  return held ? held->get<std::string>() : fallback;
}

void PretrainedConfig::same(const std::string& key, std::int64_t fallback, const std::string& setting,
                            std::int64_t held) {
  const std::int64_t wanted = integer(key, fallback);
  if (wanted != held) differs(setting, toml(wanted));
}

void PretrainedConfig::same(const std::string& key, double fallback, const std::string& setting,
                            double held) {
  const double wanted = number(key, fallback);
  if (wanted != held) differs(setting, toml(wanted));
}

void PretrainedConfig::same(const std::string& key, bool fallback, const std::string& setting, bool held) {
  const bool wanted = flag(key, fallback);
  if (wanted != held) differs(setting, toml(wanted));
}

void PretrainedConfig::same(const std::string& key, const std::string& fallback, const std::string& setting,
                            const std::string& held, const std::map<std::string, std::string>& synonyms) {
  std::string wanted = text(key, fallback);
  if (const auto usual = synonyms.find(wanted); usual != synonyms.end()) wanted = usual->second;
  if (wanted != held) differs(setting, toml(wanted));
}

void PretrainedConfig::differs(const std::string& setting, const std::string& wanted) {
  if (fits_kind_) settings_.emplace_back(setting, wanted);  // of another architecture, the keys mean nothing
}

void PretrainedConfig::only(const std::string& key, const std::vector<std::string>& written) {
  const Json* held = find(key);
  if (!held || !fits_kind_) return;
  const std::string text = held->dump();
  if (std::ranges::find(written, text) == written.end()) cannot(key + " = " + escaped_name(text));
}

void PretrainedConfig::kind(const std::string& model_type) {
  fits_kind_ = *find("model_type") == model_type;
  if (!fits_kind_)
    cannot("model_type = " + escaped_name(find("model_type")->dump()) + ": it reads " +
           in_quotes(model_type));
}

void PretrainedConfig::cannot(const std::string& what) { impossible_.push_back(what); }

void PretrainedConfig::require_possible() const {
  if (!impossible_.empty()) finish();
}

void PretrainedConfig::finish() const {
  if (settings_.empty() && impossible_.empty()) return;
  std::string text = escaped_name(path_.string()) + ", beside the weights, does not fit the recipe.";
  if (!impossible_.empty()) {
    text += " The model of the recipe cannot do:";
    for (const std::string& what : impossible_) text += "\n  " + what;
  }
  if (!settings_.empty()) {
    text += impossible_.empty() ? " Set:" : "\nThese settings must change, too:";
    for (const auto& [setting, wanted] : settings_)
      text += "\n  model." + setting + " = " + escaped_name(wanted);
  }
  throw std::runtime_error(text);
}

}  // namespace runner
