#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "components/trackers/tracker.hpp"

namespace runner {

struct TextItem {
  std::string tag, text;
  std::int64_t step = 0;
};
struct ImageItem {
  std::string tag;
  Picture image;
  std::int64_t step = 0;
};
struct HistogramItem {
  std::string tag;
  Histogram histogram;
  std::int64_t step = 0;
};
struct ArtifactItem {
  std::string name;
  std::filesystem::path file;  // relative to the run folder, or absolute
};

// Everything that a tracker receives, from the start of a run to its end.
using Item = std::variant<Record, TextItem, ImageItem, HistogramItem, ArtifactItem, RunEnd>;

using SharedItem = std::shared_ptr<const Item>;

void deliver(const Item& item, Tracker& tracker, const std::filesystem::path& run_folder);

// False for what a resumed run will log again, and for the end of the earlier attempt.
bool is_kept(const Item& item, const RunFacts& facts);

// For the disk; read_item() restores the item exactly, including NaN and infinities.
std::string write_item(const Item& item);
Item read_item(std::string_view bytes);

}  // namespace runner
