#include "runner/runs/tracking/rank_folders.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "runner/runs/tracking/trackers.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view all_ranks = "ranks", prefix = "rank-";

std::optional<int> rank_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(prefix)) return std::nullopt;
  int rank = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + prefix.size(), end, rank);
  return read.ec == std::errc{} && read.ptr == end ? std::optional(rank) : std::nullopt;
}

}  // namespace

fs::path rank_folder(const fs::path& run, int rank) {
  return run / all_ranks / (std::string(prefix) + std::to_string(rank));
}

fs::path run_of(const fs::path& folder) {
  const fs::path above = folder.parent_path();
  return above.filename() == all_ranks && rank_of(folder) ? above.parent_path() : folder;
}

std::vector<int> ranks_with_trackers(const fs::path& run) {
  std::vector<int> ranks;
  std::error_code error;
  for (fs::directory_iterator entry(run / all_ranks, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const auto rank = rank_of(entry->path());
    if (rank && fs::is_directory(tracking_folder(entry->path()), ignored)) ranks.push_back(*rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace runner
