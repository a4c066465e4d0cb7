#include <csignal>
#include <ostream>
#include <stdexcept>

#include "registry/base/machine.hpp"
#include "runner/cli/commands.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/runs/run_folder.hpp"

namespace runner::cli {

namespace {

// Requests a checkpoint; the process that trains writes it after its current step.
int ask(const Arguments& arguments, Session& session) {
  const std::filesystem::path folder = find_run(arguments.get("RUN"));
  const auto owner = RunFolder::owner(folder);
  if (!owner) throw std::runtime_error("no process is training in " + folder.string());
  if (owner->host != host_name())
    throw std::runtime_error("the run is on " + owner->host +
                             ": run this command there, or send SIGUSR1 to process " +
                             std::to_string(owner->pid));
  if (::kill(static_cast<pid_t>(owner->pid), SIGUSR1) != 0)
    throw std::runtime_error("cannot signal process " + std::to_string(owner->pid) + ": " +
                             std::system_category().message(errno));
  session.out << "requested a checkpoint from process " << owner->pid << "; `runner checkpoints "
              << arguments.get("RUN") << "` lists it once written\n";
  return Exit::done;
}

}  // namespace

Command checkpoint_command() {
  return {.name = "checkpoint",
          .summary = "Ask a running process to save its run now.",
          .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                         Word::file}},
          .examples = {{"runner checkpoint shapes", "after the current step"}},
          .run = &ask,
          .details = "Sends SIGUSR1 to the process that trains."};
}

}  // namespace runner::cli
