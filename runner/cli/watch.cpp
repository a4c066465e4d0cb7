#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include "registry/base/utf8.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/runs/metrics_file.hpp"
#include "runner/runs/run_record.hpp"
#include "runner/terminal/console.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/plot.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

// The first `most` curves to draw: the loss, then what evaluations measure, then the others.
std::vector<const Series*> chosen(const RunMetrics& metrics, const std::vector<std::string>& wanted,
                                  std::size_t most) {
  const auto rank = [](const Series* series) {
    const std::string& name = series->name;
    if (name == "train/loss") return 0;
    if (!name.starts_with("train/") && !name.starts_with("perf/"))
      return 1 + static_cast<int>(std::ranges::count(name, '/'));
    return name == "train/lr" ? 8 : 9;
  };
  std::vector<const Series*> found;
  for (const Series& series : metrics.series()) {
    const auto begins = [&](const std::string& start) { return series.name.starts_with(start); };
    if (wanted.empty() || std::ranges::any_of(wanted, begins)) found.push_back(&series);
  }
  std::ranges::stable_sort(found, {}, rank);
  if (found.size() > most) found.resize(most);
  return found;
}

int columns_of(const ConsoleOutput& terminal) { return std::clamp(terminal.width() - 1, 30, 100); }

// The folder may come from someone else: nothing in it may control the terminal.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return printable(text);
}

// No line is wider than the terminal: the cursor is put back by counting lines.
std::string heading(const RunRecord& run, const Moment& last, const ConsoleOutput& terminal,
                    const Style& style) {
  const auto width = static_cast<std::size_t>(columns_of(terminal));
  const std::string name = shortened(in_one_line(run.name), width / 2, terminal.utf8);
  const std::string status =
      "  " + in_one_line(run.status) + (run.message.empty() ? "" : ": " + in_one_line(run.message));
  std::string text = style.bold(name) + shortened(status, width - visible_width(name), terminal.utf8) + "\n" +
                     "step " + grouped(static_cast<std::int64_t>(last.step)) + ", epoch " +
                     epoch_text(last.epoch) + ", " + duration_text(last.time) + "\n";
  if (!run.stand_in.empty())
    text += style.red(wrapped("Not the real data: " + in_one_line(run.stand_in), width, "")) + "\n";
  return text;
}

std::string curves(const RunMetrics& metrics, const std::vector<std::string>& wanted,
                   const ConsoleOutput& terminal, const Style& style, std::size_t most) {
  if (metrics.series().empty()) return "nothing measured yet\n";
  const int width = columns_of(terminal);
  std::string text;
  const auto drawn_series = chosen(metrics, wanted, most);
  if (drawn_series.empty())
    return shortened("no metric so far starts with " + in_one_line(joined(wanted, " or ")),
                     static_cast<std::size_t>(width), terminal.utf8) +
           "\n";
  for (const Series* series : drawn_series) {
    const auto& points = series->curve.points();
    std::vector<std::pair<double, double>> drawn;
    for (const CurvePoint& point : points) drawn.emplace_back(point.x, point.y);
    const std::string value = "  " + measured(points.back().y);
    const std::string name =
        shortened(in_one_line(series->name), static_cast<std::size_t>(width) - value.size(), terminal.utf8);
    text += "\n" + style.cyan(name) + value + "\n" + plot(drawn, {width, 6, terminal.utf8, "steps"});
  }
  return text;
}

// How many plots fit on the screen below the heading: the cursor cannot go back to lines that scrolled away.
std::size_t plots_that_fit(std::string_view heading) {
  constexpr int lines_of_plot = 10, line_of_cursor = 1;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return 4;
  const auto above = static_cast<int>(std::ranges::count(heading, '\n')) + line_of_cursor;
  return static_cast<std::size_t>(std::max(1, (size.ws_row - above) / lines_of_plot));
}

// Moves the cursor back to the start of the text that was shown before, and clears it.
std::string over(const std::string& text) {
  const auto lines = std::ranges::count(text, '\n');
  return lines == 0 ? "" : "\x1b[" + std::to_string(lines) + "A\r\x1b[J";
}

int run(const Arguments& arguments, Session& session) {
  const std::filesystem::path folder = find_run(arguments.get("RUN"));
  double every = 1;
  try {
    every = number_option(arguments, "every", 0.1, 3600).value_or(every);
  } catch (const BadNumber& problem) {
    return refuse({problem.message, {}, "runner watch --help"}, session);
  }
  const ConsoleOutput terminal = ConsoleOutput::standard_output();
  const bool live = &session.out == &std::cout && terminal.terminal && !arguments.has("once");
  MetricsFile file(folder / "metrics.jsonl");
  RunMetrics metrics;
  std::string shown;
  while (true) {
    file.read([&](const Record& record) { metrics.add(record); }, [&] { metrics = {}; });
    const RunRecord record = read_run(folder);
    const std::string above = heading(record, metrics.last(), terminal, session.out_style);
    const std::string text = above + curves(metrics, arguments.all("metric"), terminal, session.out_style,
                                            live ? plots_that_fit(above) : 4);
    session.out << over(shown) << text << std::flush;
    if (!live || record.status != "running") return Exit::done;
    shown = text;
    std::this_thread::sleep_for(std::chrono::duration<double>(every));
  }
}

}  // namespace

Command watch_command() {
  return {
      .name = "watch",
      .summary = "Draw the curves of a run in the terminal, while it is running.",
      .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                     Word::file}},
      .options = {{.name = "metric",
                   .doc =
                       "Only metrics whose names start with this, such as eval/; may be given several times.",
                   .value = "NAME",
                   .many = true},
                  {.name = "every", .doc = "Seconds between two updates; default: 1.", .value = "SECONDS"},
                  {.name = "once", .doc = "Draw once and exit."}},
      .examples = {{"runner watch shapes", "the last run of that name, until it ends"},
                   {"runner watch shapes --metric eval/ --once", "as it is now"}},
      .run = &run,
      .details =
          "Ends with the run, or with Ctrl-C, which does not touch the run.\n"
          "Draws once if the output is not a terminal."};
}

}  // namespace runner::cli
