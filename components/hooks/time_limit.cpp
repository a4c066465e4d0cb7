// For jobs that a scheduler kills at a fixed time. train.max_time belongs to the training itself: it counts
// training time, shapes the schedule and is the same on every machine. This hook is about the job: it counts
// from the start of the process, including the time to load data, and exits early enough to save.
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "components/hooks/hook.hpp"
#include "registry/base/log.hpp"
#include "registry/base/machine.hpp"

namespace runner {
namespace {

struct TimeLimit {
  Duration limit;
  Duration margin = seconds(60);
};
constexpr auto describe(std::type_identity<TimeLimit>) {
  return fields(field("limit", &TimeLimit::limit,
                      "The time the job has, from the start of the process, or of `runner launch`.",
                      required(), in_units({"s"}), above(0), harmless()),
                field("margin", &TimeLimit::margin,
                      "How long before the limit the run exits, to leave time for saving.", in_units({"s"}),
                      at_least(0), harmless()));
}

void check(const TimeLimit& settings, Report& report) {
  if (settings.margin.amount >= settings.limit.amount)
    report.error("margin", "leaves no time to train within the limit");
}

// Not /proc/uptime: a container may have its own, while process_start() counts from the boot of its host.
double seconds_since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// In seconds since boot: when the launcher started, which may have restarted this process, or else when this
// process did; now, if the system does not tell.
double job_start() {
  const char* launcher = std::getenv(launcher_start_variable);
  const std::string ticks = launcher ? launcher : process_start("self");
  if (ticks.empty()) return seconds_since_boot();
  return std::strtod(ticks.c_str(), nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

class TimeLimitHook : public Hook {
 public:
  explicit TimeLimitHook(TimeLimit settings)
      : settings_(settings), job_start_(job_start()), last_(seconds_since_boot() - job_start_) {}

  void after_step(const Progress&, Requests& requests) override {
    const double now = seconds_since_boot() - job_start_;
    if (seen_a_step_) longest_ = std::max(longest_, now - last_);
    seen_a_step_ = true;
    last_ = now;
    // The next step may take as long as the longest so far, including an evaluation between two steps.
    if (now + longest_ + settings_.margin.amount < settings_.limit.amount) return;
    requests.interrupt(log::format("the time limit of {} is near: {} since the job started",
                                   to_string(settings_.limit), to_string(seconds(std::round(now)))));
  }

 private:
  TimeLimit settings_;
  double job_start_;
  double last_;
  double longest_ = 0;
  bool seen_a_step_ = false;
};

HookFacts facts(const TimeLimit&) {
  return {.saves_models = false, .keeps_state = false, .only_observes = true};
}

std::unique_ptr<Hook> build(const TimeLimit& settings, const HookInputs&) {
  return std::make_unique<TimeLimitHook>(settings);
}

const Registration<HookKind> registration{
    "time_limit",
    "Saves and exits before a job scheduler's limit, as after SIGTERM; the same command continues the run.",
    &build};

}  // namespace
}  // namespace runner
