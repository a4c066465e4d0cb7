#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "components/trackers/tracker.hpp"

namespace runner {

// metrics.jsonl, read from front to back in bounded memory, while it may still be growing: a line that is not
// whole yet is left for the next time.
class MetricsFile {
 public:
  explicit MetricsFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Every record that was added since the last call. A file that became shorter is read from its start
  // again: `restarted` is called first.
  void read(const std::function<void(const Record&)>& each, const std::function<void()>& restarted = [] {});

  std::int64_t unreadable_lines() const { return unreadable_; }

 private:
  void take(std::string_view line, const std::function<void(const Record&)>& each);

  std::filesystem::path path_;
  std::uintmax_t position_ = 0;
  std::int64_t unreadable_ = 0;
  Record record_;
};

}  // namespace runner
