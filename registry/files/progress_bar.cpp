#include "registry/files/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "registry/base/machine.hpp"

namespace runner {

namespace {

constexpr auto between_draws = std::chrono::milliseconds(100);
constexpr int widest_bar = 30, narrowest_bar = 5;

std::string megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", bytes / 1e6);
  return text;
}

std::string bar_of(double share, int width) {
  const int filled = static_cast<int>(share * width);
  return "[" + std::string(filled, '#') + std::string(width - filled, ' ') + "] ";
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
                              double bytes_per_second, int width) {
  const double share = total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0;
  std::string amount = megabytes(static_cast<double>(done));
  if (total > 0) {
    amount = std::to_string(static_cast<int>(share * 100)) + " %  " + amount + " of " +
             megabytes(static_cast<double>(total));
  }
  const std::string name = label + "  ", speed = "  " + megabytes(bytes_per_second) + "/s";
  const auto free_after = [&](const std::string& text) {
    return width - 1 - static_cast<int>(text.size());  // some terminals wrap after the last column
  };
  const int bar = std::min(widest_bar, free_after("[] " + name + amount + speed));
  if (total > 0 && bar >= narrowest_bar) return name + bar_of(share, bar) + amount + speed;
  for (const std::string& text : {name + amount + speed, name + amount})
    if (free_after(text) >= 0) return text;
  return amount.substr(0, static_cast<std::size_t>(std::max(width - 1, 0)));
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
  text_ = line(label_, done, total, speed, terminal_width(STDERR_FILENO));
  erase();
  draw();
}

}  // namespace runner
