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
#include "components/support/weights/safetensors.hpp"

namespace runner {

// States of which every rank has a part. Each rank writes its part into a file of its own, all at the same
// time: optimizer-00002-of-00004.safetensors. The threads that write in the background cannot use
// collectives, which belong to training; so a rank tells rank 0 through a note beside its file, in the folder
// that all of them have to see in any case.

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

// What another rank has written, once it has; takes the note away. Throws IoError with what went wrong there,
// or where the rank leaves no note in time.
WrittenFile wait_for_part(const std::filesystem::path& folder, const RankPart& part, const WaitOptions& wait);

// The JSON of a whole state from that of its parts; and an index of which file has which tensor, as
// HuggingFace's libraries write it, or none where there are no tensors. What several ranks have is taken from
// the first.
nlohmann::json joined(const std::vector<nlohmann::json>& parts);
std::optional<std::string> index_of(const std::string& name, const std::vector<nlohmann::json>& parts);

}  // namespace runner
