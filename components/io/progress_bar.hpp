#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace runner {

// One line on stderr that is drawn over and over, and wiped at the end. Draws nothing where stderr is not a
// terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();

  void show(std::int64_t done, std::int64_t total);  // in bytes; a total of 0 is unknown

  static std::string line(const std::string& label, std::int64_t done, std::int64_t total,
                          double bytes_per_second);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool terminal_;
  bool drawn_ = false;
  std::int64_t first_done_ = -1;  // what an earlier attempt had brought counts for the bar, not for the speed
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = {};
};

}  // namespace runner
