#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "components/contract/outcome.hpp"
#include "registry/base/live_line.hpp"

namespace runner {

// What the user sees of a run, as plain data: the console knows no engine, no recipe and no tensor.

struct RunSummary {
  std::string name;
  std::string recipe;  // the file; empty: none
  std::string model;
  std::int64_t parameters = 0;
  std::int64_t trained_parameters = 0;
  std::string dataset;
  std::int64_t train_examples = 0;
  std::int64_t eval_examples = 0;
  std::int64_t batch_size = 0;
  std::int64_t eval_batch_size = 0;
  std::int64_t accumulation_steps = 1;
  std::int64_t steps_per_epoch = 0;
  std::int64_t total_steps = 0;       // 0: not known, limited by time alone
  std::optional<double> epochs;       // as planned
  std::optional<double> max_seconds;  // as planned
  std::string loss;
  std::string optimizer;
  std::string scheduler;
  std::string precision;
  std::string device;  // with details: "cpu, 2 threads"
  std::vector<std::string> trackers = {};
  std::vector<std::string> hooks = {};
  std::filesystem::path folder;
  std::string stand_in;  // why other data is used than the recipe names; empty if it is not
};

struct ProgressLine {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;  // 0: not known
  double epoch = 0;              // epochs done, with the fraction
  std::optional<double> epochs;  // as planned
  double share = 0;              // of the run, 0 to 1
  double seconds = 0;            // of the run
  std::optional<double> loss;    // none: the one shown before is kept
  double lr = 0;
  double examples_per_second = 0;  // 0: not known yet
};

struct EvalLine {
  std::int64_t step = 0;
  double epoch = 0;
  std::vector<std::pair<std::string, double>> measurements = {};
  double seconds = 0;
  bool best = false;  // the best so far
};

struct BestResult {
  std::string metric;
  double value = 0;
  std::int64_t step = 0;
  double epoch = 0;
};

struct ClosingSummary {
  Outcome outcome = Outcome::finished;
  std::string reason;  // why it was stopped or failed
  std::int64_t steps = 0;
  std::int64_t skipped_steps = 0;
  double epochs = 0;
  double seconds = 0;
  std::optional<BestResult> best;
  std::vector<std::pair<std::string, double>> last = {};                  // the last evaluation
  std::vector<std::pair<double, double>> loss_curve = {};                 // step and loss
  std::vector<std::pair<std::string, double>> time = {};                  // seconds by activity
  std::vector<std::pair<std::string, std::filesystem::path>> files = {};  // what it is, where it is
  std::vector<std::string> warnings = {};                                 // to repeat
  std::string stand_in;                                                   // as in RunSummary
};

// Where a console writes, and what that place can show. Tests make their own.
struct ConsoleOutput {
  std::function<void(std::string_view)> write;
  bool terminal = false;  // draws a live line; else plain lines from time to time
  bool colour = false;
  bool utf8 = false;
  std::function<int()> width = [] { return 80; };  // asked again for every line: terminals change
  std::function<double()> clock;                   // in seconds, from any starting point

  // The streams of this process; NO_COLOR, TERM=dumb and the locale are respected.
  static ConsoleOutput standard_error();
  static ConsoleOutput standard_output();
  // Shows nothing: for all ranks but rank 0.
  static ConsoleOutput silent();
};

// Shows the summary, one live progress line (plain lines if the output is not a terminal) and evaluations; at
// the end the closing table, which is the result and goes to an output of its own. Both tables are written to
// the log files too. Messages that are logged meanwhile appear above the live line. For one thread.
class Console : private LiveLine {
 public:
  Console() : Console(ConsoleOutput::standard_error(), ConsoleOutput::standard_output()) {}
  Console(ConsoleOutput progress, ConsoleOutput results);
  ~Console() override;  // erases the live line
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void summary(const RunSummary& run);
  // May be called at any rate: it is drawn at most ten times a second, or every ten seconds if the output is
  // not a terminal.
  void progress(const ProgressLine& line);
  // Whether progress() would draw now. Only then is it worth fetching the loss from the device.
  bool progress_due() const;
  void evaluating(double share);  // of the evaluation, 0 to 1; shown on a terminal only
  void evaluation(const EvalLine& line);
  void closing(const ClosingSummary& run);

 private:
  void erase() override;
  void draw() override;
  bool due(double interval) const;  // whether the last output is at least that old
  std::optional<double> remaining(const ProgressLine& line) const;  // in seconds, at the speed so far
  void show(std::function<std::string(int width)> live);
  void print(const std::string& lines);
  std::string to_line_start() const;

  ConsoleOutput output_, results_;
  std::optional<ProgressLine> first_;  // the first one of this process: the speed is computed from it
  std::optional<double> loss_;
  std::optional<double> last_shown_;            // when, by the clock
  std::int64_t last_step_ = -1;                 // the last one shown
  std::function<std::string(int width)> live_;  // makes the text of the live line
  std::size_t drawn_length_ = 0;                // columns of the live line on the terminal
};

}  // namespace runner
