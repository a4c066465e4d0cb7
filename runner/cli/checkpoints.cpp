#include <csignal>
#include <nlohmann/json.hpp>
#include <ostream>

#include <unistd.h>

#include "registry/byte_size.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/cli/commands.hpp"
#include "runner/describe/json.hpp"
#include "runner/inference/load_run.hpp"
#include "runner/run_folder/run_folder.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;

struct Listed {
  CheckpointSummary summary;
  std::string damage;  // empty: complete
};

std::vector<Listed> all_checkpoints(const fs::path& folder) {
  std::vector<Listed> all;
  for (const fs::path& path : CheckpointStore(folder).all()) {
    Listed listed{{.folder = path}, damage_of(path)};
    try {
      listed.summary = read_summary(path);
    } catch (const std::exception&) {
      // what is wrong with it is said already
    }
    all.push_back(std::move(listed));
  }
  return all;
}

std::string measurements_text(const CheckpointSummary& summary) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : summary.measurements) parts.push_back(name + " " + measured(value));
  return joined(parts, ", ");
}

nlohmann::ordered_json to_json(const std::vector<Listed>& all) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& [summary, damage] : all) {
    nlohmann::ordered_json one{
        {"folder", summary.folder.string()}, {"step", summary.step},   {"epoch", summary.epoch},
        {"created", summary.created},        {"bytes", summary.bytes}, {"complete", damage.empty()}};
    for (const auto& [name, value] : summary.measurements) one["measurements"][name] = value;
    if (!damage.empty()) one["damage"] = damage;
    json.push_back(std::move(one));
  }
  return json;
}

int list(const Arguments& arguments, Session& session) {
  const fs::path folder = find_run(arguments.get("RUN"));
  const auto all = all_checkpoints(folder);
  if (arguments.has("json")) {
    session.out << dumped(to_json(all));
    return Exit::done;
  }
  if (all.empty()) session.out << folder.string() << " has no checkpoint\n";
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& [summary, damage] : all) {
    std::vector<std::string> facts{"epoch " + epoch_text(summary.epoch), summary.created,
                                   approximately({static_cast<std::uint64_t>(summary.bytes)})};
    if (!summary.measurements.empty()) facts.push_back(measurements_text(summary));
    facts.push_back(damage.empty() ? session.out_style.green("complete")
                                   : session.out_style.red("damaged: " + damage));
    rows.emplace_back(summary.folder.filename().string(), joined(facts, "  "));
  }
  session.out << two_columns(rows, "", 200);
  return Exit::done;
}

// The process that trains writes it after its step.
int ask(const Arguments& arguments, Session& session) {
  const fs::path folder = find_run(arguments.get("RUN"));
  const auto owner = RunFolder::owner(folder);
  if (!owner) throw std::runtime_error("nobody trains in " + folder.string() + ": there is nothing to save");
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  if (owner->host != host)
    throw std::runtime_error("the run is on " + owner->host + ": ask there, or send SIGUSR1 to process " +
                             std::to_string(owner->pid));
  if (::kill(static_cast<pid_t>(owner->pid), SIGUSR1) != 0)
    throw std::runtime_error("process " + std::to_string(owner->pid) +
                             " cannot be asked: it belongs to somebody else");
  session.out << "asked process " << owner->pid << "; `runner checkpoints " << arguments.get("RUN")
              << "` shows it when it is written\n";
  return Exit::done;
}

const Argument run_argument{"RUN", "A run folder, or the name of a run (the last one of it).",
                            Argument::Count::one, Word::file};

}  // namespace

Command checkpoints_command() {
  return {.name = "checkpoints",
          .summary = "List the checkpoints of a run, complete or damaged.",
          .arguments = {run_argument},
          .options = {{.name = "json", .doc = "The same, for programs."}},
          .examples = {{"runner checkpoints shapes", "of the last run of that name"}},
          .run = &list};
}

Command checkpoint_command() {
  return {.name = "checkpoint",
          .summary = "Ask a running process to save its run now.",
          .arguments = {run_argument},
          .examples = {{"runner checkpoint shapes", "after the step it is in"}},
          .run = &ask,
          .details = "Sends SIGUSR1 to the process that trains."};
}

}  // namespace runner::cli
