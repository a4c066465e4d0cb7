#include "runner/terminal/tables.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "registry/base/arithmetic.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "runner/terminal/lines.hpp"
#include "runner/terminal/plot.hpp"
#include "runner/terminal/text.hpp"

namespace runner {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr const char* stand_in_title =
    "STAND-IN DATA: these results are not for the data that the recipe names";

constexpr std::size_t most_warnings = 10;

std::string repeated(const char* piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

// A conspicuous box over the whole width: a title, and the sentences below it.
std::string banner(const std::string& title, const std::string& text, const Look& look) {
  constexpr std::size_t frame = 6, widest = 100, narrowest = 20;  // frame: a wall and two spaces on each side
  const auto columns = static_cast<std::size_t>(std::max(look.width - 1, 0));
  const std::size_t inside = std::clamp(columns, narrowest + frame, widest) - frame;
  const char *line = look.utf8 ? "━" : "#", *wall = look.utf8 ? "┃" : "#";
  const char* corners[] = {look.utf8 ? "┏" : "#", look.utf8 ? "┓" : "#", look.utf8 ? "┗" : "#",
                           look.utf8 ? "┛" : "#"};

  const auto edge = [&](const char* left, const char* right) {
    return look.style.yellow(left + repeated(line, inside + frame - 2) + right) + "\n";
  };
  std::string box = edge(corners[0], corners[1]);
  std::istringstream lines(title + "\n" + wrapped(text, inside, ""));
  bool first = true;
  for (std::string each; std::getline(lines, each); first = false) {
    each = shortened(each, inside, look.utf8);
    const std::string space(inside - visible_width(each) + 2, ' ');
    box += look.style.yellow(wall) + "  " + (first ? look.style.bold(look.style.yellow(each)) : each) +
           space + look.style.yellow(wall) + "\n";
  }
  return box + edge(corners[2], corners[3]);
}

std::string table(const Rows& rows, const Look& look) {
  Rows shown;
  for (const auto& [what, text] : rows) {
    if (!text.empty()) shown.emplace_back(look.style.dim(what), text);
  }
  return two_columns(shown, "  ", static_cast<std::size_t>(std::max(look.width, 40)));
}

std::string model_text(const RunSummary& run, const Look& look) {
  if (run.parameters == 0) return run.model;
  std::string text = run.model + look.dot() + grouped(run.parameters) + " parameters";
  if (run.trained_parameters != run.parameters)
    text += ", " + grouped(run.trained_parameters) + " of them trained";
  return text;
}

std::string data_text(const RunSummary& run, const Look& look) {
  std::string text = run.dataset + look.dot() + grouped(run.train_examples) + " examples to train";
  if (run.eval_examples > 0) text += ", " + grouped(run.eval_examples) + " to evaluate";
  return text;
}

std::string examples_text(const RunSummary& run, const Look& look) {
  // A window of batches ends with the epoch.
  if (run.train_examples > 0 && run.batch_size >= divide_up(run.train_examples, run.accumulation_steps))
    return "the whole training set in each step";
  std::string text = grouped(run.batch_size);
  if (run.accumulation_steps > 1) {
    text += look.times() + grouped(run.accumulation_steps) +
            " accumulated = " + grouped(run.batch_size * run.accumulation_steps);
  }
  return text + (run.batch_size * run.accumulation_steps == 1 ? " example a step" : " examples a step");
}

std::string batch_text(const RunSummary& run, const Look& look) {
  std::string text = examples_text(run, look);
  if (run.eval_examples > 0 && run.eval_batch_size > 0)
    text += look.dot() + grouped(run.eval_batch_size) + " to evaluate";
  return text;
}

std::string steps_text(std::int64_t steps) { return grouped(steps, "step"); }
std::string epochs_text(double epochs) { return epoch_text(epochs) + (epochs == 1 ? " epoch" : " epochs"); }

std::string length_text(const RunSummary& run, const Look& look) {
  std::vector<std::string> limits;
  // If max_steps ends the run first, the epochs are not reached, so they are not shown.
  const bool all_epochs = run.epochs && static_cast<double>(run.total_steps) + 1e-9 >=
                                            *run.epochs * static_cast<double>(run.steps_per_epoch);
  if (all_epochs) limits.push_back(epochs_text(*run.epochs));
  if (run.total_steps > 0) limits.push_back(steps_text(run.total_steps));
  if (run.max_seconds) limits.push_back("at most " + duration_text(*run.max_seconds));
  if (run.steps_per_epoch > 0) limits.push_back(steps_text(run.steps_per_epoch) + " an epoch");
  return joined(limits, look.dot());
}

std::string headline(const ClosingSummary& run, const Look& look) {
  // What a signal has interrupted is stopped for the reader, and the reason says how.
  const bool finished = run.outcome == Outcome::finished, failed = run.outcome == Outcome::failed;
  const std::string painted = finished ? look.style.green("finished")
                              : failed ? look.style.red("failed")
                                       : look.style.yellow("stopped");
  std::string text = painted + " after " + duration_text(run.seconds) + look.dot() + steps_text(run.steps) +
                     look.dot() + epochs_text(run.epochs);
  if (run.skipped_steps > 0) text += look.dot() + grouped(run.skipped_steps, "update") + " skipped";
  return text + "\n" +
         (run.reason.empty() ? "" : wrapped(run.reason, static_cast<std::size_t>(look.width), "") + "\n");
}

// The activities that took at least one percent of the time, the longest first.
std::string time_text(const ClosingSummary& run, const Look& look) {
  double total = 0;
  for (const auto& [activity, seconds] : run.time) total += seconds;
  auto activities = run.time;
  std::ranges::sort(activities, std::greater<>{}, [](const auto& each) { return each.second; });
  std::vector<std::string> parts;
  for (const auto& [activity, seconds] : activities) {
    const long percent = total > 0 ? std::lround(100 * seconds / total) : 0;
    if (percent >= 1) parts.push_back(activity + " " + std::to_string(percent) + "%");
  }
  return joined(parts, look.dot());
}

std::string results(const ClosingSummary& run, const Look& look) {
  Rows rows;
  if (run.best) {
    rows.emplace_back("best", escaped_name(run.best->metric) + " " +
                                  look.style.bold(measured(run.best->value)) + " at step " +
                                  grouped(run.best->step) + ", epoch " + epoch_text(run.best->epoch));
  }
  rows.emplace_back("last", joined(measurement_texts(run.last, "", {}), look.dot()));
  rows.emplace_back("time", time_text(run, look));
  for (const auto& [what, path] : run.files) rows.emplace_back(what, printable(path.string()));
  return table(rows, look);
}

std::string warnings_text(const ClosingSummary& run, const Look& look) {
  if (run.warnings.empty()) return "";
  std::string text = "\n" + look.style.yellow(counted(run.warnings.size(), "warning")) + "\n";
  const std::size_t shown = std::min(run.warnings.size(), most_warnings);
  for (std::size_t i = 0; i < shown; ++i) {
    text +=
        "  " + wrapped(run.warnings[i], static_cast<std::size_t>(std::max(look.width - 2, 40)), "  ") + "\n";
  }
  if (shown < run.warnings.size()) {
    text += "  and " + std::to_string(run.warnings.size() - shown) + " more, all of them in log.txt\n";
  }
  return text;
}

}  // namespace

std::string summary_table(const RunSummary& run, const Look& look) {
  std::string text = look.style.bold(escaped_name(run.name)) +
                     (run.recipe.empty() ? "" : "  " + look.style.dim(printable(run.recipe))) + "\n";
  Rows rows{{"model", model_text(run, look)},
            {"data", data_text(run, look)},
            {"batch", batch_text(run, look)},
            {"length", length_text(run, look)},
            {"loss", run.loss},
            {"optimizer", run.optimizer},
            {"scheduler", run.scheduler},
            {"precision", run.precision},
            {"device", run.device},
            {"trackers", joined(run.trackers)},
            {"hooks", joined(run.hooks)}};
  rows.emplace_back("folder", printable(run.folder.string()));
  text += table(rows, look) + "\n";
  return run.stand_in.empty() ? text : text + banner(stand_in_title, run.stand_in, look) + "\n";
}

std::string closing_table(const ClosingSummary& run, const Look& look) {
  PlotOptions options{std::min(look.width - 1, 100), 8, look.utf8, "steps"};
  const std::string curve = plot(run.loss_curve, options);
  std::string text = "\n" + headline(run, look);
  if (!curve.empty()) text += "\n  " + look.style.dim("loss") + "\n" + curve;
  text += "\n" + results(run, look) + warnings_text(run, look);
  return run.stand_in.empty() ? text : text + "\n" + banner(stand_in_title, run.stand_in, look);
}

}  // namespace runner
