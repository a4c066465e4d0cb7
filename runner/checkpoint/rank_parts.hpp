#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
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

// Writes a rank's part and its note. If that fails, the note says why, and IoError is thrown.
WrittenFile write_part(const std::filesystem::path& folder, const RankPart& part, const State& own);

// How long to wait for the other ranks, and whether waiting was cancelled.
struct WaitOptions {
  std::chrono::milliseconds timeout{600000};
  const std::atomic<bool>* cancelled = nullptr;
};

// Waits until another rank has written its part, and deletes its note. Throws IoError that says what went
// wrong there, or if the rank leaves no note in time.
WrittenFile wait_for_part(const std::filesystem::path& folder, const RankPart& part, const WaitOptions& wait);

// joined(): the JSON of a whole state from that of its parts. index_of(): which file has which tensor, in
// HuggingFace's format; none if there are no tensors. If several ranks have the same entry, that of the first
// rank counts.
nlohmann::json joined(const std::vector<nlohmann::json>& parts);
std::optional<std::string> index_of(const std::string& name, const std::vector<nlohmann::json>& parts);

}  // namespace runner
