#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "components/contract/state.hpp"
#include "components/weights/safetensors.hpp"

namespace runner {

// Sharded states: every rank writes its part into a file of its own, all at the same time:
// optimizer-00002-of-00004.safetensors. The threads that write in the background cannot use collectives,
// which belong to training. Instead, a rank tells rank 0 that it is done through a small file (a note) in the
// same folder, which all ranks share in any case.

struct RankPart {
  std::string name;  // of the state
  int rank = 0, ranks = 1;

  std::string file() const;
};

// Writes a rank's part, if it has tensors, and its note. If that fails, the note says why, and IoError is
// thrown.
void write_part(const std::filesystem::path& folder, const RankPart& part, const State& own);

// How long to wait for each part, whether waiting was cancelled, and what is wrong with a rank, if anything.
struct WaitOptions {
  std::chrono::milliseconds timeout{600000};
  const std::atomic<bool>* cancelled = nullptr;
  std::function<std::optional<std::string>(int rank)> trouble_with = {};
};

struct WrittenPart {
  nlohmann::json layout;            // to_json() of the part
  std::optional<WrittenFile> file;  // none if the part has no tensors
};

// Waits until a rank has written its part, and deletes its note. Throws IoError that says what went wrong
// there, or if the rank leaves no note in time; RankError if it has failed or died.
WrittenPart wait_for_part(const std::filesystem::path& folder, const RankPart& part, const WaitOptions& wait);

// joined(): the JSON of a whole state from that of its parts. index_of(): which file has which tensor, in
// HuggingFace's format; none if there are no tensors. If several ranks have the same entry, that of the first
// rank counts.
nlohmann::json joined(const std::vector<nlohmann::json>& parts);
std::optional<std::string> index_of(const std::string& name, const std::vector<nlohmann::json>& parts);

}  // namespace runner
