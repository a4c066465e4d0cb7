#include "runner/sweep/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <list>
#include <thread>

#include "registry/base/log.hpp"
#include "registry/files/file_lock.hpp"
#include "runner/runs/metrics_file.hpp"
#include "runner/runs/run_record.hpp"
#include "runner/sweep/halving.hpp"
#include "runner/sweep/trial_process.hpp"
#include "runner/toml/reference.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds pause{50};

// What earlier attempts of a trial have left.
struct EarlierAttempts {
  std::uintmax_t output = 0;          // bytes
  fs::file_time_type result_at = {};  // when its result was written
};

fs::file_time_type result_time(const fs::path& folder) {
  std::error_code none;
  const auto time = fs::last_write_time(folder / "result.json", none);
  return none ? fs::file_time_type() : time;
}

// Why the trial failed: the last error message in its output, if any, after that of earlier attempts; for a
// run that diverged, which is no error of the program, what its result says.
std::string reason(const fs::path& output, const EarlierAttempts& earlier, int exit_code,
                   const fs::path& folder) {
  std::ifstream file(output);
  file.seekg(static_cast<std::streamoff>(earlier.output));
  std::string found;
  for (std::string line; std::getline(file, line);) {
    if (line.find("error: ") != std::string::npos) found = line;
  }
  if (!found.empty()) return found;
  if (exit_code > 128) return "ended by signal " + std::to_string(exit_code - 128);
  const std::string message = read_run(folder).message;
  if (!message.empty() && result_time(folder) != earlier.result_at) return message;
  return "exit code " + std::to_string(exit_code) + "; see " + output.string();
}

// The metric of a trial, as far as it has been measured.
class Evaluations {
 public:
  Evaluations(const SweepPlan& plan, std::int64_t trial)
      : objective_(plan.objective), trial_(trial), metrics_(plan.trial_folder(trial) / "metrics.jsonl") {}

  // Reads new measurements; false if halving decides to stop the trial.
  bool read(Halving& halving) {
    bool may_continue = true;
    const auto judge = [&](const Record& record) {
      for (const auto& [name, value] : record.values) {
        if (name != objective_.metric) continue;
        best_ = std::min(best_, objective_.highest ? -value : value);
        if (!halving.may_continue(trial_, ++count_, best_)) may_continue = false;
      }
    };
    metrics_.read(judge, [&] {  // resumed from a checkpoint: later measurements were removed
      best_ = INFINITY;
      count_ = 0;
    });
    return may_continue;
  }

 private:
  const Objective objective_;
  const std::int64_t trial_;
  MetricsFile metrics_;
  std::int64_t count_ = 0;
  double best_ = INFINITY;  // lower is better
};

// A trial that is being run.
class RunningTrial {
 public:
  RunningTrial(const SweepPlan& plan, Trial trial)
      : plan_(plan), trial_(std::move(trial)), evaluations_(plan, trial_.number) {
    const fs::path folder = plan.trial_folder(trial_.number);
    lock_ = folder.string() + ".lock";
    command_.environment = plan.environment;
    command_.output = folder.string() + ".log";
    std::vector<std::string>& arguments = command_.arguments;
    arguments = {"run", plan.recipe.string()};
    if (plan.ranks > 1) arguments = {"launch", "-n", std::to_string(plan.ranks), plan.recipe.string()};
    arguments.insert(arguments.end(), plan.overrides.begin(), plan.overrides.end());
    for (std::string& setting : plan.settings(trial_.point)) arguments.push_back(std::move(setting));
    arguments.push_back("run.dir=" + escape_references(fs::absolute(folder).string()));
    if (trial_.threads > 0) arguments.push_back("run.threads=" + std::to_string(trial_.threads));
    arguments.emplace_back("checkpoint.resume=auto");  // an unfinished trial continues from its checkpoint
    start();
    if (!process_)
      log::info("trial {} waits for a process of an earlier sweep that still holds {}", trial_.number,
                lock_.string());
  }

  // Reads new measurements; false if halving decides to stop the trial.
  bool look(Halving& halving) { return !plan_.halving || evaluations_.read(halving); }

  void give_up() {
    hopeless_ = true;
    interrupt();
  }
  void interrupt() {
    if (process_) process_->stop();
  }

  // Whether the trial has ended, and with which outcome; an interrupted one stays unfinished.
  bool over(bool interrupted) {
    if (!process_ && interrupted) return true;
    if (!process_) start();
    const auto code = process_ ? process_->exit_code() : std::nullopt;
    if (!code) return false;
    take_results();
    trial_.outcome = outcome_of(*code, hopeless_, interrupted);
    if (trial_.outcome == Trial::Outcome::failed) {
      trial_.message = reason(command_.output, earlier_, *code, plan_.trial_folder(trial_.number));
    } else if (trial_.outcome == Trial::Outcome::finished && !trial_.value) {
      trial_.outcome = Trial::Outcome::failed;
      trial_.message = plan_.objective.metric + (measured_ ? " was never finite" : " was never measured");
    }
    return true;
  }

  const Trial& trial() const { return trial_; }

 private:
  // Does nothing if an earlier process of the trial is still ending.
  void start() {
    std::error_code none;
    const std::uintmax_t size = fs::file_size(command_.output, none);
    earlier_ = {none ? 0 : size, result_time(plan_.trial_folder(trial_.number))};
    process_ = TrialProcess::start(command_, lock_);
  }

  void take_results() {
    const RunMetrics metrics = read_metrics(plan_.trial_folder(trial_.number));
    const auto best = metrics.best_of(plan_.objective.metric, plan_.objective.highest);
    if (best) trial_.value = best->value;
    measured_ = metrics.find(plan_.objective.metric) != nullptr;
    trial_.step = metrics.last().step;
    trial_.seconds = metrics.last().time;
  }

  const SweepPlan& plan_;
  Trial trial_;
  Evaluations evaluations_;
  TrialCommand command_;
  fs::path lock_;
  std::unique_ptr<TrialProcess> process_;
  EarlierAttempts earlier_;
  bool hopeless_ = false, measured_ = false;
};

// Tells halving what earlier trials had reached after each evaluation, to compare later ones with. It judged
// unfinished trials then, and does not judge them again.
void recall(const SweepPlan& plan, const std::vector<Trial>& trials, Halving& halving) {
  if (!plan.halving) return;
  for (const Trial& trial : trials) Evaluations(plan, trial.number).read(halving);
}

// The trials still to run: first those that were started before, then new ones.
class Queue {
 public:
  Queue(const SweepPlan& plan, const Sampler& sampler, TrialJournal& journal)
      : plan_(plan), sampler_(sampler), journal_(journal) {
    for (const Trial& trial : journal.trials()) {
      const bool again = plan.retry_failed && trial.outcome == Trial::Outcome::failed;
      if (again || trial.outcome == Trial::Outcome::unfinished) started_.push_back(trial);
    }
  }

  std::optional<Trial> next() {
    if (!started_.empty()) {
      const Trial earlier = started_.front();
      started_.pop_front();
      Trial trial{.number = earlier.number, .point = earlier.point, .threads = earlier.threads};
      if (earlier.outcome == Trial::Outcome::failed) journal_.start(trial);
      return trial;
    }
    const std::int64_t number = std::ssize(journal_.trials());
    if (plan_.samples > 0 && number >= plan_.samples) return std::nullopt;
    auto point = sampler_.next(number, observations_of(journal_.trials(), plan_.objective, true));
    if (!point) return std::nullopt;
    Trial trial{.number = number, .point = std::move(*point), .threads = plan_.threads};
    journal_.start(trial);
    return trial;
  }

 private:
  const SweepPlan& plan_;
  const Sampler& sampler_;
  TrialJournal& journal_;
  std::list<Trial> started_;
};

}  // namespace

std::vector<std::string> SweepPlan::settings(const Point& point) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    all.push_back(parameters[i].key + "=" + parameters[i].text(point.at(i)));
  return all;
}

fs::path SweepPlan::trial_folder(std::int64_t trial) const {
  std::string name = std::to_string(trial);
  name.insert(0, 4 - std::min<std::size_t>(4, name.size()), '0');
  return folder / "trials" / name;
}

std::vector<Trial> run_sweep(const SweepPlan& plan, const Sampler& sampler, const SweepEvents& events) {
  fs::create_directories(plan.folder / "trials");
  const auto alone = FileLock::try_lock(plan.folder / "sweep.lock");
  if (!alone)
    throw std::runtime_error("another process is running the sweep in " + plan.folder.string() +
                             "; wait until it has ended, or give this one another folder with --dir");
  TrialJournal journal(plan.folder / "trials.jsonl", plan.parameters.size());
  Queue queue(plan, sampler, journal);
  Halving halving;
  recall(plan, journal.trials(), halving);
  std::list<RunningTrial> running;
  bool interrupted = false, exhausted = false;
  while (true) {
    interrupted = interrupted || events.interrupted();
    while (!interrupted && !exhausted && std::ssize(running) < plan.jobs) {
      const auto trial = queue.next();
      exhausted = !trial;
      if (!trial) break;
      running.emplace_back(plan, *trial);
      events.started(*trial);
    }
    if (running.empty()) return journal.trials();
    for (auto each = running.begin(); each != running.end();) {
      if (interrupted) each->interrupt();
      if (!each->look(halving)) each->give_up();
      if (!each->over(interrupted)) {
        ++each;
        continue;
      }
      if (each->trial().outcome != Trial::Outcome::unfinished) {
        journal.end(each->trial());
        events.ended(each->trial());
      }
      each = running.erase(each);
    }
    std::this_thread::sleep_for(pause);
  }
}

std::vector<Observation> observations_of(const std::vector<Trial>& trials, const Objective& objective,
                                         bool unfinished) {
  std::vector<Observation> found;
  for (const Trial& trial : trials) {
    if (trial.outcome == Trial::Outcome::unfinished) {
      if (unfinished) found.push_back({.point = trial.point, .running = true});
    } else if (trial.outcome != Trial::Outcome::failed && trial.value) {
      found.push_back({trial.point, objective.highest ? -*trial.value : *trial.value,
                       trial.outcome == Trial::Outcome::stopped_early, trial.step});
    }
  }
  return found;
}

const Trial* best_trial(const std::vector<Trial>& trials, const Objective& objective) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (!trial.value || trial.outcome == Trial::Outcome::failed) continue;
    if (!best || (objective.highest ? *trial.value > *best->value : *trial.value < *best->value))
      best = &trial;
  }
  return best;
}

}  // namespace runner
