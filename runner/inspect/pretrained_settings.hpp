#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace runner {

// The settings of a recipe that starts from a folder written by HuggingFace's save_pretrained: the model that
// its config.json describes, and the settings that differ from the defaults.
struct PretrainedSettings {
  std::string model;
  std::vector<std::string> overrides;     // "model.layers=32" .. "model.weights=.."
  std::string tokenizer = {};             // dataset.tokenizer as TOML; empty: the folder has none
  std::vector<std::string> classes = {};  // by their numbers; empty: the weights name none
};

// Throws std::runtime_error if no model fits, or if it does not support what config.json asks for.
PretrainedSettings pretrained_settings(const std::filesystem::path& folder, const Registry& registry);

}  // namespace runner
