#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "components/contract/model_states.hpp"
#include "components/contract/state.hpp"
#include "components/support/io/folders.hpp"
#include "runner/checkpoint/manifest.hpp"
#include "runner/checkpoint/rank_parts.hpp"

namespace runner {

class TemporaryFolderBeside;

// Everything a run needs to continue from one moment exactly as if it had never stopped.
struct Checkpoint {
  std::int64_t step = 0;
  double epoch = 0;
  double seconds = 0;                          // of the run
  std::int64_t ranks = 1;                      // that trained it
  bool kept = false;                           // never deleted: at a multiple of checkpoint.keep_every
  std::map<std::string, double> metrics = {};  // of the last evaluation before it
  std::map<std::string, State> states = {};    // "model", "optimizer", "model.encoder" ..
  // For states that are sharded over ranks: the part of each rank, as JSON. `states` holds this rank's part.
  std::map<std::string, std::vector<std::string>> sharded = {};
  std::map<std::string, std::string> texts = {};     // further files: recipe.toml ..
  std::map<std::string, std::string> versions = {};  // of what wrote it: "runner", "libtorch", plugins
  std::shared_ptr<const TemporaryFolderBeside> hook_files = {};  // which become part of it
};

struct CheckpointSettings {
  std::int64_t max_shard_bytes = std::int64_t{5} << 30;  // a larger model.safetensors is split
};

// Before a checkpoint is written to the folder, and before what was read from it is restored: hooks write and
// read files of their own, and take models out and put them back.
void call_save_hooks(const std::vector<ModelStatesHook>& hooks, Checkpoint& checkpoint,
                     const std::filesystem::path& folder);
void call_load_hooks(const std::vector<ModelStatesHook>& hooks, Checkpoint& checkpoint,
                     const std::filesystem::path& folder);

// One folder: model.safetensors (several with HuggingFace's index where it is large), optimizer.safetensors
// (one for each rank where they share it out), the same for further models and optimizers ("model.encoder"),
// state.safetensors, state.json, the texts, the files of hooks, and manifest.json with size and SHA-256 of
// every other file. Written to a temporary folder beside it, flushed, and renamed: it is there complete or
// not at all. Waits for the parts of other ranks. Throws IoError, naming the file.
void write_checkpoint(TemporaryFolderBeside& folder, const Checkpoint& checkpoint,
                      const CheckpointSettings& settings = {}, const WaitOptions& wait = {});

// What is wrong with the files of a checkpoint, given its manifest; empty: nothing.
using DamageCheck = std::function<std::string(const std::filesystem::path&, const nlohmann::json&)>;
std::string damage_of_any_file(const std::filesystem::path& folder, const nlohmann::json& manifest);
std::string already_checked(const std::filesystem::path& folder, const nlohmann::json& manifest);

// Compares every file with the manifest first; tensors lie on the mapped files, and nothing is read before it
// is needed. Throws std::runtime_error that names the file where something is missing or damaged.
Checkpoint read_checkpoint(const std::filesystem::path& folder,
                           const DamageCheck& check = damage_of_any_file);

}  // namespace runner
