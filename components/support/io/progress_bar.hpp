#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "registry/live_line.hpp"

namespace runner {

// The progress of a transfer as the live line on stderr, wiped at the end. Where stderr is not a terminal,
// nothing.
class ProgressBar final : public LiveLine {
 public:
  explicit ProgressBar(std::string label);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() override;

  void show(std::int64_t done, std::int64_t total);  // in bytes; a total of 0 is unknown

  static std::string line(const std::string& label, std::int64_t done, std::int64_t total,
                          double bytes_per_second);

 private:
  using Clock = std::chrono::steady_clock;

  void erase() override;
  void draw() override;

  std::string label_, text_;
  bool terminal_;
  std::int64_t first_done_ = -1;  // what an earlier attempt had brought counts for the bar, not for the speed
  Clock::time_point start_ = Clock::now(), last_ = {};
};

}  // namespace runner
