#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace runner {

// The config.json that HuggingFace's save_pretrained writes beside weights. With another config, the same
// weights are another model, so a model compares its own settings with it.
class PretrainedConfig {
 public:
  // From this folder, or the folder of this weights file; none if it has no config.json of a model.
  static std::optional<PretrainedConfig> beside(const std::filesystem::path& weights);

  const nlohmann::json& json() const { return *json_; }
  const nlohmann::json* find(const std::string& key) const;  // nullptr if missing or null

  // Compares `key` with the model's `setting`, whose value is `held`. `fallback` is HuggingFace's default.
  void same(const std::string& key, std::int64_t fallback, const std::string& setting, std::int64_t held);
  void same(const std::string& key, double fallback, const std::string& setting, double held);
  void same(const std::string& key, bool fallback, const std::string& setting, bool held);
  // `synonyms`: other words of the file for a value of the setting.
  void same(const std::string& key, const std::string& fallback, const std::string& setting,
            const std::string& held, const std::map<std::string, std::string>& synonyms = {});

  // Notes that a setting must be changed to `wanted`, which is TOML.
  void differs(const std::string& setting, const std::string& wanted);
  // For keys without a setting: the model supports only these values, which are JSON.
  void only(const std::string& key, const std::vector<std::string>& written);
  void cannot(const std::string& what);  // notes something that the model does not support

  std::int64_t integer(const std::string& key, std::int64_t fallback) const;
  double number(const std::string& key, double fallback) const;
  bool flag(const std::string& key, bool fallback) const;
  std::string text(const std::string& key, const std::string& fallback) const;

  // Checks the architecture that the file is for; models call this first.
  void kind(const std::string& model_type);
  bool fits_kind() const { return fits_kind_; }

  // Throws std::runtime_error that lists all differences, if there are any.
  void finish() const;
  // The same, but only if there is something that the model does not support.
  void require_possible() const;
  // The settings that a recipe has to change, as key and TOML.
  const std::vector<std::pair<std::string, std::string>>& settings() const { return settings_; }

 private:
  explicit PretrainedConfig(std::filesystem::path path, nlohmann::json json);
  [[noreturn]] void malformed(const std::string& key) const;

  std::filesystem::path path_;
  std::shared_ptr<const nlohmann::json> json_;
  std::vector<std::pair<std::string, std::string>> settings_;
  std::vector<std::string> impossible_;
  bool fits_kind_ = true;
};

// A model that HuggingFace also has.
class Pretrained {
 public:
  virtual ~Pretrained() = default;
  virtual void compare(PretrainedConfig& config) const = 0;
};

}  // namespace runner
