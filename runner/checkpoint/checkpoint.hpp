#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "components/contract/state.hpp"

namespace runner {

// Everything a run needs to go on from one moment exactly as if it had never stopped.
struct Checkpoint {
  std::int64_t step = 0;
  double epoch = 0;
  double seconds = 0;                                // of the run
  std::map<std::string, double> measurements = {};   // the last evaluation before it
  std::map<std::string, State> states = {};          // "model", "optimizer" ..
  std::map<std::string, std::string> texts = {};     // further files: recipe.toml ..
  std::map<std::string, std::string> versions = {};  // of what wrote it: "runner", "libtorch"
};

struct CheckpointSettings {
  std::int64_t max_shard_bytes = std::int64_t{5} << 30;  // a larger model.safetensors is split
};

// One folder: model.safetensors (several with HuggingFace's index where it is large), optimizer.safetensors,
// state.safetensors, state.json, the texts, and manifest.json with size and SHA-256 of every other file.
// Written to a temporary folder beside it, flushed, and renamed: it is there complete or not at all. Throws
// IoError, naming the file.
void write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                      const CheckpointSettings& settings = {});

// Compares every file with the manifest first; tensors lie on the mapped files. Throws std::runtime_error
// that names the file where something is missing or damaged.
Checkpoint read_checkpoint(const std::filesystem::path& folder);

// What a manifest says, without looking at the files it speaks of.
struct CheckpointSummary {
  std::filesystem::path folder;
  std::int64_t step = 0;
  double epoch = 0;
  std::string created;  // local time
  std::int64_t bytes = 0;
  std::map<std::string, double> measurements = {};
};
CheckpointSummary read_summary(const std::filesystem::path& folder);
// Empty where every file is there with its size and checksum; else what is wrong with the first that is not.
std::string damage_of(const std::filesystem::path& folder);

}  // namespace runner
