#include "runner/ranks/launch/launch_ranks.hpp"

#include <algorithm>
#include <ostream>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/process/exit_codes.hpp"
#include "runner/ranks/launch/attempt.hpp"
#include "runner/ranks/launch/blame.hpp"
#include "runner/ranks/launch/launch_signals.hpp"
#include "runner/ranks/launch/machines.hpp"
#include "runner/ranks/launch/run_store.hpp"

namespace runner {

namespace {

// The GPUs of ranks that failed are the last to be used again.
void move_to_the_end(std::vector<int>& gpus, const std::vector<const LaunchedRank*>& failed) {
  std::vector<int> suspects;
  for (const LaunchedRank* rank : failed) suspects.push_back(gpus[static_cast<std::size_t>(rank->local)]);
  std::ranges::stable_partition(gpus,
                                [&](int gpu) { return std::ranges::find(suspects, gpu) == suspects.end(); });
}

// Restarted ranks continue in the folder of the run.
void continue_in(const std::string& folder, LaunchOptions& options) {
  if (folder.empty()) return;
  const std::string setting = "run.dir=" + folder;
  if (options.command.back() != setting) options.command.push_back(setting);
}

int attempt_until_done(LaunchOptions options, LaunchSignals& signals, std::ostream& messages) {
  RunStore store(options);
  Machines machines(options, store, signals);
  Offer offer{options.ranks, options.ranks};
  std::optional<Attempt::Clock::time_point> failed_at;
  for (int restart = 0;; ++restart) {
    const Roster roster = machines.agree(restart, offer);
    if (restart > 0)
      messages << log::format("runner: restarting with {} (restart {} of {}).\n",
                              counted(static_cast<std::size_t>(roster.size()), "rank"), restart,
                              options.max_restarts)
               << std::flush;
    Attempt attempt(options, roster, restart, failed_at, store, signals, messages);
    attempt.wait();
    const Blame blame(attempt, store);
    const int code = blame.exit_code();
    if (code == 0 || blame.ended_together()) return code;
    blame.explain(messages, options.tee);
    const bool would_fail_again = code == Exit::bad_input;
    if (attempt.interrupted() || would_fail_again || restart == options.max_restarts) return code;
    if (restart == 0 && blame.failed_in_setup()) {
      messages << "runner: not restarting: the run would fail again before its first step.\n";
      return code;
    }
    const auto& failed = blame.culprits();
    if (options.fewest_ranks) {
      offer.ranks = static_cast<int>(attempt.ranks().size()) - static_cast<int>(failed.size());
      if (!options.gpus.empty()) move_to_the_end(options.gpus, failed);
    }
    failed_at = attempt.failed_at();
    continue_in(attempt.folder().value_or(""), options);
  }
}

}  // namespace

int launch_ranks(LaunchOptions options, std::ostream& messages) {
  LaunchSignals signals;  // first: threads that start later inherit the blocked signals
  try {
    return attempt_until_done(std::move(options), signals, messages);
  } catch (const NoAttempt& none) {
    if (!none.reason.empty()) messages << "runner: " << none.reason << ".\n";
    return none.exit_code;
  }
}

}  // namespace runner
