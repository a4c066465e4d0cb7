#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace runner {

// What a recipe has to say to start from a folder that HuggingFace's save_pretrained wrote: the model that
// its config.json is about, and its settings where they are not the defaults.
struct PretrainedSettings {
  std::string model;
  std::vector<std::string> overrides;  // "model.layers=32" .. "model.weights=.."
};

// Throws std::runtime_error where no model here is the one, or it cannot do what config.json asks for.
PretrainedSettings pretrained_settings(const std::filesystem::path& folder, const Registry& registry);

}  // namespace runner
