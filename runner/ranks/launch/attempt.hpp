#pragma once

#include <sys/types.h>

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runner/ranks/launch/launch_signals.hpp"
#include "runner/ranks/launch/rank_output.hpp"
#include "runner/ranks/launch/roster.hpp"
#include "runner/ranks/launch/run_store.hpp"
#include "runner/ranks/sighting.hpp"

namespace runner {

struct LaunchedRank {
  int number;
  int local;  // number among the ranks of this machine
  pid_t process;
  RankOutput output;
  std::optional<int> status = {};  // as waitpid gives it, once the process has ended
  bool killed_by_us = false;
  bool was_suspended = false;  // when it was killed: by a SIGSTOP from outside

  bool running() const { return !status; }
};

// How long a restart took: from the failure to the end of the first new step. The model may be built long
// before that, and the step at which training resumes is that of the checkpoint.
class RecoveryTimer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RecoveryTimer(std::optional<Clock::time_point> failed_at) : failed_at_(failed_at) {}

  bool running() const { return failed_at_.has_value(); }

  // Returns the time once, when rank 0 has been seen after such a step.
  std::optional<std::chrono::duration<double>> seen(const std::optional<Sighting>& rank_0) {
    if (!failed_at_ || !rank_0 || rank_0->step <= rank_0->first_step) return {};
    const std::chrono::duration<double> taken = Clock::now() - *failed_at_;
    failed_at_.reset();
    return taken;
  }

 private:
  std::optional<Clock::time_point> failed_at_;
};

// All ranks of this machine, from start to end. If one fails, the others get some time to notice and report
// it, and are then killed.
class Attempt {
 public:
  using Clock = std::chrono::steady_clock;

  // `failed_at`: when the previous attempt failed.
  Attempt(const LaunchOptions& options, const Roster& roster, int restart,
          std::optional<Clock::time_point> failed_at, RunStore& store, LaunchSignals& signals,
          std::ostream& messages);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  void wait();

  // Valid after wait().
  const std::vector<LaunchedRank>& ranks() const { return ranks_; }
  const std::vector<int>& order_of_ends() const { return order_of_ends_; }  // numbers of ranks
  int restart() const { return restart_; }
  bool interrupted() const { return interrupted_; }                     // by a signal to the launcher
  const std::optional<std::string>& folder() const { return folder_; }  // of the run, if it exists
  std::optional<Clock::time_point> failed_at() const { return failed_at_; }
  bool failed_elsewhere() const { return failed_elsewhere_; }  // first, on another machine

 private:
  void start(const Roster& roster, int local);
  void poll_once();
  void handle(int signal);
  void pass_on_checkpoint_request();
  void reap();
  void hear_of_failures();
  void notice_suspension();
  void fail_now();
  void kill_all(int signal);
  bool only_suspended_are_left() const;
  void find_folder();
  void report_recovery();

  const LaunchOptions& options_;
  const int restart_;
  RunStore& store_;
  LaunchSignals& signals_;
  std::ostream& messages_;
  RecoveryTimer recovery_;
  std::vector<LaunchedRank> ranks_;
  std::vector<int> order_of_ends_;
  std::optional<std::string> folder_;
  std::optional<Clock::time_point> failed_at_;  // when the first rank failed, on any machine
  Clock::time_point looked_at_ = Clock::now();
  Clock::duration suspended_for_{};  // all ranks here; counted only while this process runs
  bool failed_elsewhere_ = false, interrupted_ = false;
  int requests_to_stop_ = 0;  // SIGINT and SIGTERM to the launcher
};

}  // namespace runner
