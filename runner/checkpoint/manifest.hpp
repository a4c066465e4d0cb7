#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "registry/files/written_file.hpp"

namespace runner {

// manifest.json, the file that makes a folder a checkpoint: its step, time and versions, and the size and
// checksums of every other file. It is validated when read, because a checkpoint may come from anywhere.

inline constexpr int manifest_format = 1;

// The checkpoint is not damaged, but cannot be read here.
struct OtherFormat : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Whether an error while reading a checkpoint is about its contents. Errors of the disk, of memory, of
// another rank, or because of another version of the runner are no reason to use an older checkpoint, or to
// delete this one.
bool is_about_checkpoint(const std::exception& error);

// Bounded in size, depth and number of values: a checkpoint may come from anywhere.
nlohmann::json read_json_object(const std::filesystem::path& path);

// The contents of a manifest; the files that it lists are not read. Reading it throws IoError if the disk
// fails, OtherFormat if another version of the runner wrote it, and another std::runtime_error if it is
// missing or damaged.
struct CheckpointSummary {
  std::filesystem::path folder;
  std::int64_t step = 0;
  double epoch = 0;
  double seconds = 0;  // time of the run
  std::int64_t ranks = 1;
  std::string created;  // local time
  std::int64_t bytes = 0;
  bool kept = false;
  std::map<std::string, double> metrics = {};
  std::map<std::string, std::string> versions = {};
};
CheckpointSummary read_summary(const std::filesystem::path& folder);
// Describes the first file that is missing, does not match its size and checksum, or belongs to the state of
// the run and is not listed; empty: the checkpoint is intact. Throws errors that are not about the
// checkpoint: IoError, OtherFormat and others.
std::string damage_of(const std::filesystem::path& folder);
bool is_intact(const std::filesystem::path& folder);  // warns if it is not

// The entry of one file in the manifest.
nlohmann::json to_json(const WrittenFile& file);
WrittenFile written_file_from(const nlohmann::json& entry);

// The whole manifest, validated: it has all entries of a summary, and "files" with valid entries.
nlohmann::json read_manifest(const std::filesystem::path& folder);
bool is_inside(const std::filesystem::path& name);  // whether a name in it is of a file in the checkpoint
bool is_listed(const nlohmann::json& manifest, const std::string& file);
// Models and optimizers have files of their own: "model", "model.encoder".
bool is_model(std::string_view state);
bool is_optimizer(std::string_view state);
CheckpointSummary summary_of(const nlohmann::json& manifest, const std::filesystem::path& folder);

// Selects one of several parts of the files, which have about the same number of bytes.
struct ShareOfFiles {
  int part = 0, parts = 1;
};
std::string damage_of(const std::filesystem::path& folder, const nlohmann::json& manifest,
                      const ShareOfFiles& share = {});

}  // namespace runner
