#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "components/support/io/written_file.hpp"

namespace runner {

// manifest.json, the file that makes a folder a checkpoint: which run and step it belongs to, and size and
// checksums of every other file. It is validated when read, because a checkpoint may come from anywhere.

inline constexpr int manifest_format = 1;

// Bounded in size, depth and number of values: a checkpoint may come from anywhere.
nlohmann::json read_json_object(const std::filesystem::path& path);

// What a manifest says, without looking at the files it speaks of. Reading it throws IoError where the disk
// fails, and another std::runtime_error where there is none or it is damaged.
struct CheckpointSummary {
  std::filesystem::path folder;
  std::int64_t step = 0;
  double epoch = 0;
  double seconds = 0;  // of the run
  std::int64_t ranks = 1;
  std::string created;  // local time
  std::int64_t bytes = 0;
  bool kept = false;
  std::map<std::string, double> metrics = {};
  std::map<std::string, std::string> versions = {};
};
CheckpointSummary read_summary(const std::filesystem::path& folder);
// What is wrong with the first file that is missing or does not match its size and checksum; empty: nothing.
std::string damage_of(const std::filesystem::path& folder);

// One of its files, as the manifest has it.
nlohmann::json to_json(const WrittenFile& file);
WrittenFile written_file_from(const nlohmann::json& entry);

// For those that read more of it. The manifest has the entries of a summary, and "files" as it should be.
nlohmann::json read_manifest(const std::filesystem::path& folder);
CheckpointSummary summary_of(const nlohmann::json& manifest, const std::filesystem::path& folder);

// One of several parts of the files, of about as many bytes each.
struct ShareOfFiles {
  int part = 0, parts = 1;
};
std::string damage_of(const std::filesystem::path& folder, const nlohmann::json& manifest,
                      const ShareOfFiles& share = {});

}  // namespace runner
