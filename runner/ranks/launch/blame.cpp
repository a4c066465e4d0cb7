#include "runner/ranks/launch/blame.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <ostream>

#include "registry/base/log.hpp"
#include "runner/process/exit_codes.hpp"
#include "runner/process/processes.hpp"
#include "runner/ranks/launch/rank_process.hpp"

namespace runner {

namespace {

bool has_failed(const LaunchedRank& rank) { return exit_code_of(*rank.status) != 0; }

void show_output(const LaunchedRank& rank, std::ostream& messages) {
  if (rank.number == 0 || rank.output.last_lines().empty()) return;
  const auto& file = rank.output.file();
  messages << "  last lines of its output" << (file ? " (full log: " + file->string() + ")" : "") << ":\n";
  for (const std::string& line : rank.output.last_lines()) messages << "    " << line << "\n";
}

}  // namespace

Blame::Blame(const Attempt& attempt, RunStore& store) : attempt_(attempt), store_(store) {
  for (const int number : attempt.order_of_ends()) {
    const LaunchedRank& rank = *std::ranges::find(attempt.ranks(), number, &LaunchedRank::number);
    const auto seen = store.sighting(attempt.restart(), number);
    if (seen) furthest_step_ = std::max(furthest_step_, seen->step);
    // Without the store the cause is unknown; ranks that lose the network all fail with this exit code.
    constexpr int failed = 1;
    const bool because_of_another = seen ? seen->phase == Sighting::Phase::stopped_by_another
                                         : !store.answers() && exit_code_of(*rank.status) == failed;
    if (has_failed(rank) && !because_of_another && !rank.killed_by_us) culprits_.push_back(&rank);
  }
}

int Blame::exit_code() const {
  if (!culprits_.empty()) return exit_code_of(*culprits_.front()->status);
  const auto failed = std::ranges::find_if(attempt_.ranks(), has_failed);
  return failed == attempt_.ranks().end() ? 0 : exit_code_of(*failed->status);
}

bool Blame::ended_together() const {
  const int code = exit_code();
  const bool by_signal = code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP;
  return std::ranges::all_of(attempt_.ranks(), [&](const LaunchedRank& rank) {
    if (exit_code_of(*rank.status) != code) return false;
    // The run was saved, or had nothing to save; or every rank found the mistake in the recipe.
    if (by_signal || code == Exit::bad_input) return true;
    const auto seen = store_.sighting(attempt_.restart(), rank.number);
    return WIFEXITED(*rank.status) && seen && seen->phase == Sighting::Phase::left;
  });
}

bool Blame::failed_in_setup() const {
  return !culprits_.empty() && std::ranges::all_of(culprits_, [&](const LaunchedRank* rank) {
    const auto seen = store_.sighting(attempt_.restart(), rank->number);
    return seen && seen->phase == Sighting::Phase::failed && seen->step < 0;
  });
}

void Blame::explain(std::ostream& messages, bool all_shown) const {
  for (const LaunchedRank& rank : attempt_.ranks()) {
    if (rank.was_suspended)
      messages << log::format(
          "runner: rank {} (process {}) was stopped by a signal (SIGSTOP) and never continued.\n",
          rank.number, rank.process);
  }
  if (!store_.answers())
    messages << log::format(
        "runner: machine 0 does not respond at {}: the network to it is down, or its launcher has ended.\n",
        to_string(store_.address()));
  if (attempt_.failed_elsewhere())
    messages << "runner: a rank on another machine failed first; its launcher says which.\n";
  for (const LaunchedRank* rank : culprits_) {
    const auto seen = store_.sighting(attempt_.restart(), rank->number);
    // A rank that is killed does not tell where it is, but the others told where they noticed it.
    const bool told = seen && seen->phase != Sighting::Phase::running;
    const std::string place = seen ? where(told ? *seen : at_least_at(furthest_step_, *seen)) : "";
    const bool killed = WIFSIGNALED(*rank->status) && WTERMSIG(*rank->status) == SIGKILL;
    messages << log::format("runner: rank {} (process {}) {}: {}{}.{}\n", rank->number, rank->process,
                            rank == culprits_.front() ? "failed first" : "also failed",
                            describe_wait_status(*rank->status),
                            seen ? (told ? ", " : ", last seen ") + place : "",
                            killed ? " The kernel does this when memory runs out." : "");
  }
  const LaunchedRank& shown = culprits_.empty() ? attempt_.ranks().front() : *culprits_.front();
  if (!all_shown) show_output(shown, messages);
}

}  // namespace runner
