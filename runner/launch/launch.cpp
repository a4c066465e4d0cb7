#include "runner/launch/launch.hpp"

#include <algorithm>
#include <bit>
#include <ostream>

#include "registry/log.hpp"
#include "runner/checkpoint/resume.hpp"
#include "runner/launch/attempt.hpp"
#include "runner/launch/blame.hpp"
#include "runner/launch/launch_signals.hpp"
#include "runner/launch/run_store.hpp"

namespace runner {

namespace {

// How many ranks an elastic run restarts with. The least it may have is started in any case: a rank that
// failed may do better next time.
int ranks_left(const LaunchOptions& options, int ranks, std::size_t failed) {
  const int left = std::max(ranks - static_cast<int>(failed), 1);
  const int usable =
      options.power_of_two ? static_cast<int>(std::bit_floor(static_cast<unsigned>(left))) : left;
  return std::max(usable, *options.fewest_ranks);
}

// The GPUs of the ranks that failed are the last to be used again.
void move_to_the_end(std::vector<int>& gpus, const std::vector<const LaunchedRank*>& failed) {
  std::vector<int> suspects;
  for (const LaunchedRank* rank : failed) suspects.push_back(gpus[static_cast<std::size_t>(rank->number)]);
  std::ranges::stable_partition(gpus,
                                [&](int gpu) { return std::ranges::find(suspects, gpu) == suspects.end(); });
}

// Restarted ranks continue in the folder of the run, from the newest checkpoint there if it has one.
void continue_in(const std::string& folder, LaunchOptions& options) {
  if (folder.empty()) return;
  const std::string setting = "run.dir=" + folder;
  if (options.command.back() != setting) options.command.push_back(setting);
  if (options.resume && newest_checkpoint(CheckpointStore(folder))) options.resume.reset();
}

}  // namespace

int launch(LaunchOptions options, std::ostream& messages) {
  const LaunchSignals signals;  // first: every thread that starts from here on leaves them to this one
  RunStore store(options);
  int ranks = options.ranks;
  std::optional<Attempt::Clock::time_point> failed_at;
  for (int restart = 0;; ++restart) {
    Attempt attempt(options, ranks, restart, failed_at, store, signals, messages);
    attempt.wait();
    const Blame blame(attempt, store);
    const int code = blame.exit_code();
    if (code == 0 || blame.ended_together()) return code;
    blame.explain(messages, options.tee);
    constexpr int bad_input = 2;  // would be as bad again
    if (attempt.interrupted() || code == bad_input || restart == options.max_restarts) return code;
    if (options.fewest_ranks) {
      ranks = ranks_left(options, ranks, blame.culprits().size());
      if (!options.gpus.empty()) move_to_the_end(options.gpus, blame.culprits());
    }
    failed_at = attempt.failed_at();
    continue_in(attempt.folder().value_or(""), options);
    const int all = options.nodes * ranks;
    messages << log::format("runner: restarting with {} (restart {} of {}).\n",
                            all == 1 ? "1 rank" : std::to_string(all) + " ranks", restart + 1,
                            options.max_restarts)
             << std::flush;
  }
}

}  // namespace runner
