#include "runner/ranks/launch/attempt.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "registry/base/log.hpp"
#include "registry/base/machine.hpp"
#include "runner/process/processes.hpp"
#include "runner/ranks/launch/rank_process.hpp"
#include "runner/ranks/launch/visible_gpus.hpp"

namespace runner {

Attempt::Attempt(const LaunchOptions& options, const Roster& roster, int restart,
                 std::optional<Clock::time_point> failed_at, RunStore& store, LaunchSignals& signals,
                 std::ostream& messages)
    : options_(options),
      restart_(restart),
      store_(store),
      signals_(signals),
      messages_(messages),
      recovery_(failed_at) {
  const int here = roster.ranks.at(static_cast<std::size_t>(options.node));
  for (int local = 0; local < here; ++local) start(roster, local);
}

Attempt::~Attempt() {
  kill_all(SIGKILL);  // if an exception was thrown
  for (LaunchedRank& rank : ranks_)
    if (rank.running()) waitpid(rank.process, nullptr, 0);
}

void Attempt::start(const Roster& roster, int local) {
  const int number = roster.first_rank(options_.node) + local;
  const int local_size = roster.ranks[static_cast<std::size_t>(options_.node)];
  RankStart start{options_.command, options_.environment, store_.secret(), number != 0};
  if (options_.resume) start.command.insert(start.command.end(), {"--resume", *options_.resume});
  auto& variables = start.environment;
  variables[variable::rank] = std::to_string(number);
  variables[variable::size] = std::to_string(roster.size());
  variables[variable::local_rank] = std::to_string(local);
  variables[variable::local_size] = std::to_string(local_size);
  variables[variable::restart] = std::to_string(restart_);
  variables[variable::store] = to_string(store_.address());
  variables[launcher_start_variable] = process_start("self");
  variables.erase(variable::secret_file);
  if (!options_.gpus.empty()) show_only_gpu(options_.gpus[static_cast<std::size_t>(local)], variables);
  RankProcess process = start_rank(start);
  ranks_.push_back({number, local, process.id,
                    RankOutput(std::move(process.output), log::format("[rank {}] ", number),
                               options_.tee ? &messages_ : nullptr)});
}

void Attempt::wait() {
  constexpr std::chrono::seconds to_notice_and_say_so{10};
  while (std::ranges::any_of(ranks_, &LaunchedRank::running)) {
    poll_once();
    for (int signal = signals_.next(); signal != 0; signal = signals_.next()) handle(signal);
    pass_on_checkpoint_request();
    reap();
    hear_of_failures();
    notice_suspension();
    find_folder();
    report_recovery();
    for (LaunchedRank& rank : ranks_) rank.output.take();
    if (failed_at_ && (Clock::now() > *failed_at_ + to_notice_and_say_so || only_suspended_are_left()))
      kill_all(SIGKILL);
  }
  for (LaunchedRank& rank : ranks_) rank.output.take();
  find_folder();
  report_recovery();
}

void Attempt::poll_once() {
  std::vector<pollfd> events{{signals_.descriptor(), POLLIN, 0}};
  for (const LaunchedRank& rank : ranks_)
    if (rank.output.open()) events.push_back({rank.output.descriptor(), POLLIN, 0});
  const bool told_of_failures = options_.nodes == 1 || store_.failure_descriptor() >= 0;
  if (store_.failure_descriptor() >= 0) events.push_back({store_.failure_descriptor(), POLLIN, 0});
  constexpr int until_the_next_look = 200, for_ever = -1;
  const bool looking = !folder_ || failed_at_ || recovery_.running() || !told_of_failures ||
                       signals_.checkpoint_requested() || suspended_for_ > Clock::duration::zero();
  poll(events.data(), events.size(), looking ? until_the_next_look : for_ever);
}

void Attempt::handle(int signal) {
  if (signal == SIGCHLD) return;  // reap() looks at all of them
  // A closing session may send SIGHUP several times: like the ranks, only the others are counted.
  constexpr int patient_requests = 2;
  const bool counts = signal != SIGHUP;
  kill_all(counts && requests_to_stop_ >= patient_requests ? SIGKILL : signal);
  if (counts) ++requests_to_stop_;
  interrupted_ = true;
}

// Sent to one rank only: it tells the others, and all of them save after the same step. Several ranks might
// notice the signal in different steps, and each would cause a checkpoint. A rank that has just been started
// does not handle the signal yet and would be killed by it.
void Attempt::pass_on_checkpoint_request() {
  if (!signals_.checkpoint_requested()) return;
  const auto ready = std::ranges::find_if(
      ranks_, [](const LaunchedRank& rank) { return rank.running() && has_handler(rank.process, SIGUSR1); });
  if (ready == ranks_.end()) return;
  kill(ready->process, SIGUSR1);
  signals_.forget_checkpoint_request();
}

void Attempt::reap() {
  for (LaunchedRank& rank : ranks_) {
    int status = 0;
    if (!rank.running() || waitpid(rank.process, &status, WNOHANG) != rank.process) continue;
    rank.status = status;
    order_of_ends_.push_back(rank.number);
    if (exit_code_of(status) == 0) continue;
    store_.tell_end(restart_, rank.number);
    if (!failed_at_) fail_now();
  }
}

void Attempt::fail_now() {
  failed_at_ = Clock::now();
  if (options_.nodes > 1) store_.tell_failure(restart_);
}

// If one rank is suspended, the others notice. If all are, only this process can notice. It may have been
// suspended together with them, so at most one second between two checks counts.
void Attempt::notice_suspension() {
  constexpr std::chrono::seconds most{1};
  const auto passed = Clock::now() - std::exchange(looked_at_, Clock::now());
  if (failed_at_ || !only_suspended_are_left()) {
    suspended_for_ = {};
    return;
  }
  suspended_for_ += std::clamp<Clock::duration>(passed, std::chrono::milliseconds(1), most);
  if (suspended_for_ > options_.timeout) fail_now();
}

// Failures on other machines: ranks here may be waiting for a rank that is gone.
void Attempt::hear_of_failures() {
  if (options_.nodes == 1 || failed_at_ || !store_.has_failed(restart_)) return;
  failed_at_ = Clock::now();
  failed_elsewhere_ = true;
}

void Attempt::kill_all(int signal) {
  for (LaunchedRank& rank : ranks_) {
    if (!rank.running()) continue;
    if (signal == SIGKILL) {
      rank.killed_by_us = true;
      rank.was_suspended = rank.was_suspended || is_stopped(std::to_string(rank.process));
    }
    kill(rank.process, signal);
  }
}

// Suspended ranks cannot notice that others have ended.
bool Attempt::only_suspended_are_left() const {
  return std::ranges::all_of(ranks_, [](const LaunchedRank& rank) {
    return !rank.running() || is_stopped(std::to_string(rank.process));
  });
}

void Attempt::find_folder() {
  if (folder_) return;
  folder_ = store_.folder(restart_);
  if (!folder_ || folder_->empty()) return;
  for (LaunchedRank& rank : ranks_) {
    if (rank.number == 0) continue;  // it writes to the terminal and to the log of the run
    try {
      rank.output.write_to(std::filesystem::path(*folder_) / "ranks" /
                           log::format("rank-{}.log", rank.number));
    } catch (const std::exception& error) {  // this machine may not have that disk
      messages_ << "runner: warning: " << error.what() << "\n" << std::flush;
    }
  }
}

void Attempt::report_recovery() {
  if (!recovery_.running()) return;
  const auto taken = recovery_.seen(store_.sighting(restart_, 0));
  if (taken)
    messages_ << log::format("runner: training resumed {} s after the failure.\n",
                             std::round(10 * taken->count()) / 10);
}

}  // namespace runner
