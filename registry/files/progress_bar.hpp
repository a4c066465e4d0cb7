#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "registry/base/live_line.hpp"

namespace runner {

// The progress of a transfer as the live line on stderr, erased at the end. Prints nothing if stderr is not a
// terminal.
class ProgressBar final : public LiveLine {
 public:
  explicit ProgressBar(std::string label);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() override;

  void show(std::int64_t done, std::int64_t total);  // in bytes; 0: the total is unknown

  // Fits into a terminal of this width: a line that wrapped could not be erased.
  static std::string line(const std::string& label, std::int64_t done, std::int64_t total,
                          double bytes_per_second, int width);

 private:
  using Clock = std::chrono::steady_clock;

  void erase() override;
  void draw() override;

  std::string label_, text_;
  bool terminal_;
  std::int64_t first_done_ = -1;  // bytes from an earlier attempt do not count for the speed
  Clock::time_point start_ = Clock::now(), last_ = {};
};

}  // namespace runner
