// For jobs that a scheduler kills at a fixed time. train.max_time is part of the training itself: it counts
// training time, shapes the schedule and is the same wherever the run is made. This is about the job around
// it: it counts from the start of the process, with loading and preparing, and exits early enough to save.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <string>

#include "components/hooks/hook.hpp"
#include "registry/log.hpp"
#include "registry/process_start.hpp"

namespace runner {
namespace {

struct TimeLimit {
  Duration limit;
  Duration margin = seconds(60);
};
constexpr auto describe(std::type_identity<TimeLimit>) {
  return fields(field("limit", &TimeLimit::limit, "The time the job has, from the start of the process.",
                      required(), in_units({"s"}), above(0), harmless()),
                field("margin", &TimeLimit::margin,
                      "How long before the limit the run exits, to leave time for saving.", in_units({"s"}),
                      at_least(0), harmless()));
}

void check(const TimeLimit& params, Report& report) {
  if (params.margin.amount >= params.limit.amount)
    report.error("margin", "leaves no time to train within the limit");
}

// Since the process started, where the system says so; else since this file was first asked.
double process_seconds() {
  static const double at_first_call = [] {
    std::ifstream uptime("/proc/uptime");
    double up = 0;
    const std::string start = process_start("self");
    if (!(uptime >> up) || start.empty()) return 0.0;
    return up - std::stod(start) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }();
  static const auto first_call = std::chrono::steady_clock::now();
  return at_first_call + std::chrono::duration<double>(std::chrono::steady_clock::now() - first_call).count();
}

class TimeLimitHook : public Hook {
 public:
  explicit TimeLimitHook(TimeLimit params) : params_(params), last_(process_seconds()) {}

  void after_step(const Progress&, Requests& requests) override {
    const double now = process_seconds();
    if (seen_a_step_) longest_ = std::max(longest_, now - last_);
    seen_a_step_ = true;
    last_ = now;
    // The next step may take as long as the longest so far, an evaluation between two of them included.
    if (now + longest_ + params_.margin.amount < params_.limit.amount) return;
    requests.interrupt(log::format("the time limit of {} is near: {} since the process started",
                                   to_string(params_.limit), to_string(seconds(std::round(now)))));
  }

 private:
  TimeLimit params_;
  double last_;
  double longest_ = 0;
  bool seen_a_step_ = false;
};

HookFacts facts(const TimeLimit&) { return {.saves_models = false, .keeps_state = false}; }

std::unique_ptr<Hook> build(const TimeLimit& params, const HookInputs&) {
  return std::make_unique<TimeLimitHook>(params);
}

const Registration<HookKind> registration{
    "time_limit",
    "Saves and exits before a job scheduler's limit, as after SIGTERM; the same command continues the run.",
    &build};

}  // namespace
}  // namespace runner
