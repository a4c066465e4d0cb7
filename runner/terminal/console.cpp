#include "runner/terminal/console.hpp"

#include <algorithm>
#include <utility>

#include "registry/base/log.hpp"
#include "runner/terminal/lines.hpp"
#include "runner/terminal/tables.hpp"
#include "runner/terminal/text.hpp"

namespace runner {
namespace {

constexpr double redraw_seconds = 0.1;
constexpr double plain_seconds = 10;

// Tables adapt to the width of a terminal, within limits; in a file they have a fixed width.
Look table_look(const ConsoleOutput& output) {
  const int width = output.terminal ? std::clamp(output.width(), 40, 120) : 100;
  return {output.utf8, {output.colour}, width};
}

const Look plain_look{true, {}, 100};  // for log files

}  // namespace

Console::Console(ConsoleOutput progress, ConsoleOutput results)
    : output_(std::move(progress)), results_(std::move(results)) {
  if (output_.terminal) set_live_line(this);
}

Console::~Console() {
  const auto lock = lock_live_line();
  erase();
  if (output_.terminal) set_live_line(nullptr);
}

void Console::summary(const RunSummary& run) {
  print(summary_table(run, table_look(output_)));
  log::write_to_files(summary_table(run, plain_look));
}

void Console::progress(const ProgressLine& line) {
  if (line.loss) loss_ = line.loss;
  if (!first_) first_ = line;
  const bool last = line.share >= 1 && line.step != last_step_;
  if (!output_.terminal && !loss_) return;  // without its main number, the line is useless
  if (!progress_due() && !last) return;
  last_step_ = line.step;
  last_shown_ = output_.clock();

  ProgressLine shown = line;
  shown.loss = loss_;
  const std::optional<double> eta = remaining(line);
  if (output_.terminal) {
    show([shown, eta, this](int width) {
      return live_progress(shown, eta, {output_.utf8, {output_.colour}, width});
    });
  } else {
    print(plain_progress(shown, eta) + "\n");
  }
}

void Console::evaluating(double share) {
  if (!output_.terminal || !due(redraw_seconds)) return;
  last_shown_ = output_.clock();
  show([share, this](int width) { return live_evaluation(share, {output_.utf8, {output_.colour}, width}); });
}

void Console::evaluation(const EvalLine& line) {
  print(evaluation_text(line, {output_.utf8, {output_.colour}, output_.width()}) + "\n");
}

void Console::closing(const ClosingSummary& run) {
  {
    const auto lock = lock_live_line();
    erase();
    live_ = nullptr;
  }
  const LiveLinePause pause;
  results_.write(closing_table(run, table_look(results_)));
  log::write_to_files(closing_table(run, plain_look));
}

bool Console::progress_due() const { return due(output_.terminal ? redraw_seconds : plain_seconds); }

bool Console::due(double interval) const {
  return !last_shown_ || output_.clock() - *last_shown_ >= interval;
}

std::optional<double> Console::remaining(const ProgressLine& line) const {
  const double done = line.share - first_->share;
  if (done <= 0) return std::nullopt;
  return (line.seconds - first_->seconds) / done * (1 - std::min(line.share, 1.0));
}

void Console::show(std::function<std::string(int width)> live) {
  const auto lock = lock_live_line();
  live_ = std::move(live);
  draw();
}

void Console::print(const std::string& lines) {
  const LiveLinePause pause;
  output_.write(lines);
}

std::string Console::to_line_start() const {
  const auto width = static_cast<std::size_t>(std::max(output_.width(), 1));
  // A terminal that became narrower has broken the line into several.
  const std::size_t rows_above = drawn_length_ > 0 ? (drawn_length_ - 1) / width : 0;
  return rows_above > 0 ? "\x1b[" + std::to_string(rows_above) + "A\r\x1b[J" : "\r";
}

void Console::erase() {
  if (drawn_length_ == 0) return;
  output_.write(to_line_start() + "\x1b[K");
  drawn_length_ = 0;
}

void Console::draw() {
  if (!live_) return;
  const std::string line =
      live_(std::max(output_.width() - 1, 1));  // a full last column would break the line
  output_.write(to_line_start() + line + "\x1b[K");
  drawn_length_ = visible_width(line);
}

}  // namespace runner
