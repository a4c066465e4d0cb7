#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace runner {

// The config.json that HuggingFace's save_pretrained writes beside weights. The same weights mean something
// else with another one, so a model holds its own settings against it.
class PretrainedConfig {
 public:
  // From a folder, or from the folder of a weights file; none if there is no config.json of a model.
  static std::optional<PretrainedConfig> beside(const std::filesystem::path& weights);

  const nlohmann::json& json() const { return *json_; }
  const nlohmann::json* find(const std::string& key) const;  // nullptr: not there, or null

  // The setting of the recipe that corresponds to `key`, and its value. `fallback` is HuggingFace's default.
  void same(const std::string& key, std::int64_t fallback, const std::string& setting, std::int64_t held);
  void same(const std::string& key, double fallback, const std::string& setting, double held);
  void same(const std::string& key, bool fallback, const std::string& setting, bool held);
  void same(const std::string& key, const std::string& fallback, const std::string& setting,
            const std::string& held);

  // A setting that must be this, in TOML, and is something else.
  void differs(const std::string& setting, const std::string& wanted);
  // What the model does in one way alone. `written` are the values that mean it, as JSON.
  void only(const std::string& key, const std::vector<std::string>& written);
  void cannot(const std::string& what);

  std::int64_t integer(const std::string& key, std::int64_t fallback) const;
  double number(const std::string& key, double fallback) const;

  // The architecture that the file is for; models ask this first.
  void kind(const std::string& model_type);
  bool fits_kind() const { return fits_kind_; }

  // Throws std::runtime_error with everything that differs, or with what the model cannot do.
  void finish() const;
  void require_possible() const;
  // Instead: the settings that a recipe needs, as key and TOML.
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

// A model that HuggingFace has too.
class Pretrained {
 public:
  virtual ~Pretrained() = default;
  virtual void compare(PretrainedConfig& config) const = 0;
};

}  // namespace runner
