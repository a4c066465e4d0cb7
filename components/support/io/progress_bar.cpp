#include "components/support/io/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace runner {

namespace {

constexpr auto between_draws = std::chrono::milliseconds(100);
constexpr int bar_width = 30;

std::string megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", bytes / 1e6);
  return text;
}

}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), terminal_(::isatty(STDERR_FILENO) == 1) {
  if (terminal_) set_live_line(this);
}

ProgressBar::~ProgressBar() {
  if (!terminal_) return;
  const auto lock = lock_live_line();
  erase();
  set_live_line(nullptr);
}

void ProgressBar::erase() { std::fputs("\r\033[K", stderr); }

void ProgressBar::draw() {
  std::fputs(text_.c_str(), stderr);
  std::fflush(stderr);
}

std::string ProgressBar::line(const std::string& label, std::int64_t done, std::int64_t total,
                              double bytes_per_second) {
  std::string text = label + "  ";
  if (total > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const int filled = static_cast<int>(share * bar_width);
    text += "[" + std::string(filled, '#') + std::string(bar_width - filled, ' ') + "] ";
    text += std::to_string(static_cast<int>(share * 100)) + " %  " + megabytes(static_cast<double>(done)) +
            " of " + megabytes(static_cast<double>(total));
  } else {
    text += megabytes(static_cast<double>(done));
  }
  return text + "  " + megabytes(bytes_per_second) + "/s";
}

void ProgressBar::show(std::int64_t done, std::int64_t total) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - last_ < between_draws) return;
  last_ = now;
  if (first_done_ < 0) first_done_ = done;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double speed = seconds > 0 ? static_cast<double>(done - first_done_) / seconds : 0.0;
  const auto lock = lock_live_line();
  text_ = line(label_, done, total, speed);
  erase();
  draw();
}

}  // namespace runner
