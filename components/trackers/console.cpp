// Metrics for other programs: one line of name=value pairs per record on standard output. Everything for
// people (progress, evaluations, messages) goes to standard error:
//   runner recipe.toml 'tracker+={name="console"}' | grep --line-buffered eval/
// On a terminal the lines appear above the progress line.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "components/trackers/place.hpp"
#include "components/trackers/tracker.hpp"
#include "registry/base/live_line.hpp"
#include "registry/base/number_text.hpp"
#include "registry/base/utf8.hpp"

namespace runner {
namespace {

struct ConsoleParameters {
  std::int64_t every = 1;
  std::vector<std::string> metrics;
};
constexpr auto describe(std::type_identity<ConsoleParameters>) {
  return fields(
      field("every", &ConsoleParameters::every, "Prints every n-th record that has something to print.",
            at_least(1)),
      field("metrics", &ConsoleParameters::metrics,
            "Only metrics whose names start with one of these: \"eval/\", \"train/loss\". Empty: all."));
}

// The progress line is paused only on a terminal: if a pipe's reader stalls, it would block training too.
void print(std::string_view line) {
  std::optional<LiveLinePause> pause;
  if (::isatty(STDOUT_FILENO)) pause.emplace();
  while (!line.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      // A program that shares the pipe or terminal has made it non-blocking.
      pollfd output{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&output, 1, -1);
      continue;
    }
    if (written < 0)
      throw std::runtime_error(std::string("Cannot write to standard output: ") + std::strerror(errno) + ".");
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

class ConsoleTracker : public Tracker {
 public:
  explicit ConsoleTracker(ConsoleParameters settings) : settings_(std::move(settings)) {}

  void start(const RunFacts& facts) override { seen_ = place_integer(facts, "seen").value_or(0); }

  void log(const Record& record) override {
    std::string values;
    for (const auto& [name, value] : record.values) {
      if (wanted(name))
        values += " " + printable(name) + "=" + number_text(value);  // with a class of the data
    }
    if (values.empty() || seen_++ % settings_.every != 0) return;
    print("step=" + std::to_string(record.step) + " epoch=" + number_text(record.epoch) +
          " time=" + number_text(record.time) + values + "\n");
  }

  State place() const override { return {.integers = {{"seen", seen_}}}; }

 private:
  bool wanted(const std::string& name) const {
    if (settings_.metrics.empty()) return true;
    return std::ranges::any_of(settings_.metrics,
                               [&](const std::string& start) { return name.starts_with(start); });
  }

  ConsoleParameters settings_;
  std::int64_t seen_ = 0;
};

std::unique_ptr<Tracker> build(const ConsoleParameters& settings, const TrackerInputs&) {
  return std::make_unique<ConsoleTracker>(settings);
}

const Registration<TrackerKind> registration{
    "console",
    "Prints metrics on standard output, one line of name=value pairs per record, for other programs.",
    &build};

}  // namespace
}  // namespace runner
