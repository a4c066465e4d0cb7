#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "components/contract/model_states.hpp"
#include "components/contract/state.hpp"
#include "registry/files/folders.hpp"
#include "runner/checkpoint/manifest.hpp"
#include "runner/checkpoint/rank_parts.hpp"

namespace runner {

// Everything a run needs to continue from one moment exactly as if it had never stopped.
struct Checkpoint {
  std::int64_t step = 0;
  double epoch = 0;
  double seconds = 0;                          // time of the run
  std::int64_t ranks = 1;                      // number of ranks that trained it
  bool kept = false;                           // never deleted: at a multiple of checkpoint.keep_every
  std::map<std::string, double> metrics = {};  // of the last evaluation before it
  std::map<std::string, State> states = {};    // "model", "optimizer", "model.encoder" ..
  std::set<std::string> sharded = {};  // states of which every rank has a part; `states` holds this rank's
  std::map<std::string, std::string> texts = {};     // further files: recipe.toml ..
  std::map<std::string, std::string> versions = {};  // of the writer: "runner", "libtorch", plugins
  std::shared_ptr<const TemporaryFolderBeside> hook_files = {};  // become part of the checkpoint
};

struct CheckpointSettings {
  std::int64_t max_shard_bytes = std::int64_t{5} << 30;  // a larger model.safetensors is split
};

// Called before a checkpoint is written, and before the state read from one is restored: hooks write and read
// files of their own, and may remove models from the checkpoint and add them again.
void call_save_hooks(const std::vector<ModelStatesHook>& hooks, Checkpoint& checkpoint,
                     const std::filesystem::path& folder);
void call_load_hooks(const std::vector<ModelStatesHook>& hooks, Checkpoint& checkpoint,
                     const std::filesystem::path& folder);

// One folder: model.safetensors (a large one is split, with HuggingFace's index), optimizer.safetensors (one
// file per rank if it is sharded), the same for further models and optimizers ("model.encoder"),
// state.safetensors, state.json, the texts, the files of hooks, and manifest.json with size and checksums of
// every other file. It is written to a temporary folder, flushed, and renamed, so it is either complete or
// does not exist. Waits for the parts of other ranks. Throws IoError that names the file.
void write_checkpoint(TemporaryFolderBeside& folder, const Checkpoint& checkpoint,
                      const CheckpointSettings& settings = {}, const WaitOptions& wait = {});

// What is wrong with the files of a checkpoint, given its manifest; empty: nothing.
using DamageCheck = std::function<std::string(const std::filesystem::path&, const nlohmann::json&)>;
std::string damage_of_any_file(const std::filesystem::path& folder, const nlohmann::json& manifest);
std::string already_checked(const std::filesystem::path& folder, const nlohmann::json& manifest);

// Compares every file with the manifest first. Tensors refer to the memory-mapped files and are read when
// they are used. Throws std::runtime_error that names the file if something is missing or damaged.
Checkpoint read_checkpoint(const std::filesystem::path& folder,
                           const DamageCheck& check = damage_of_any_file);

}  // namespace runner
