#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "components/contract/weights.hpp"
#include "components/models/model.hpp"
#include "components/models/weights/weight_files.hpp"

namespace runner {

// An adapter as PEFT's save_pretrained writes it: adapter_config.json and adapter_model.safetensors, in which
// "base_model.model." stands before the names of the model.
struct PeftFolder {
  std::filesystem::path path;
  nlohmann::json config;

  // A list of names in the configuration; empty if there is none. Throws if it is anything else.
  std::vector<std::string> names(const std::string& key) const;
  // The adapter's tensors under the names they have in our models.
  WeightFiles tensors() const;
};

PeftFolder read_peft_folder(const std::filesystem::path& folder);

// `weights`: all that the model has; only what the adapter trains is written.
void write_peft_folder(const std::filesystem::path& folder, const Adaptation& adaptation,
                       const std::vector<NamedTensor>& weights);

}  // namespace runner
