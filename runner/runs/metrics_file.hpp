#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "components/trackers/tracker.hpp"

namespace runner {

// Reads metrics.jsonl in bounded memory, also while it is still growing: an incomplete last line is read by
// the next call. Lines that are not records are skipped.
class MetricsFile {
 public:
  explicit MetricsFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Calls `each` with every record that was added since the last call. If the file has become shorter, it is
  // read from its start again, after a call of `restarted`.
  void read(const std::function<void(const Record&)>& each, const std::function<void()>& restarted = [] {});

 private:
  void take(std::string_view line, const std::function<void(const Record&)>& each);

  std::filesystem::path path_;
  std::uintmax_t position_ = 0;
  Record record_;
};

}  // namespace runner
