#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runner/ranks/launch/launch_signals.hpp"
#include "runner/ranks/launch/roster.hpp"
#include "runner/ranks/launch/run_store.hpp"

namespace runner {

// Why an attempt cannot start on this machine.
struct NoAttempt {
  int exit_code;
  std::string reason;  // empty: nothing to report
};

// The launchers of a run, one on each machine. Before each attempt they tell each other, through the store,
// how many ranks they can start, and machine 0 decides. With a single machine nothing is exchanged.
class Machines {
 public:
  Machines(const LaunchOptions& options, RunStore& store, LaunchSignals& signals);

  // Throws NoAttempt.
  Roster agree(int restart, const Offer& own);

 private:
  using Clock = std::chrono::steady_clock;

  Roster decide_for_all(int restart, const Offer& own);
  Roster ask_machine_0(int restart, const Offer& own);
  bool announce(int restart, const Offer& own);
  NoAttempt too_few(int restart, const std::vector<std::optional<Offer>>& offers) const;
  std::chrono::milliseconds patience(int restart) const;
  void pause();  // between two requests; throws NoAttempt after a signal

  const LaunchOptions& options_;
  RunStore& store_;
  LaunchSignals& signals_;
  std::vector<std::string> launchers_;  // the name of the launcher of each machine
};

}  // namespace runner
