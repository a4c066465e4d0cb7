#include "runner/recipe.hpp"

#include <algorithm>
#include <charconv>

#include "registry/suggest.hpp"
#include "runner/measurements.hpp"

namespace runner {

namespace {

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

bool is_device(std::string_view device) {
  if (device == "auto" || device == "cpu" || device == "cuda") return true;
  constexpr std::string_view prefix = "cuda:";
  if (!device.starts_with(prefix)) return false;
  device.remove_prefix(prefix.size());
  unsigned index = 0;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
  return error == std::errc{} && end == device.data() + device.size() && index < 128;
}

// What people write who mean a device of ours.
std::optional<std::string> meant_device(const std::string& device) {
  if (device.starts_with("gpu") || device == "nvidia") return "cuda";
  if (is_device("cuda:" + device)) return "cuda:" + device;
  if (device.size() > 4 && is_device("cuda:" + device.substr(4))) return "cuda:" + device.substr(4);
  return nearest(device, {"auto", "cpu", "cuda"});
}

}  // namespace

void check(const RunSection& run, Report& report) {
  if (!is_device(run.device)) {
    const auto meant = meant_device(run.device);
    report.error("device", "cannot be " + quoted(run.device) +
                               (meant ? "; did you mean " + quoted(*meant) + "?" : "") +
                               " (\"auto\", \"cpu\", \"cuda\" or \"cuda:1\")");
  }
  // The name becomes a folder: one that would lead elsewhere is a mistake.
  if (run.name.find('/') != std::string::npos || run.name == "." || run.name == "..") {
    report.error("name", "becomes the name of a folder, so it cannot be " + quoted(run.name) +
                             "; choose where the run goes with \"dir\"");
  }
}

void check(const LoaderSection& loader, Report& report) {
  if (loader.workers == 0 && loader.prefetch)
    report.error("prefetch", "means nothing with workers = 0: no batch is made before it is needed");
}

void check(const DistributedSection& distributed, Report& report) {
  const DistributedSection defaults;
  const bool local = distributed.strategy == RankStrategy::local_sgd;
  if (!local && distributed.average_every != defaults.average_every)
    report.error("average_every",
                 "is for strategy = \"local_sgd\": every other strategy keeps the ranks equal");
  if (local && distributed.compression != Compression::none)
    report.error("compression", "is about gradients, which \"local_sgd\" does not exchange");
  if (distributed.bucket_size.bytes < 1024)
    report.error("bucket_size", "is too small to be sent at once: give at least 1KiB, such as \"25MiB\"");
}

void check(const TrainSection& train, Report& report) {
  if (!train.epochs && !train.max_steps && !train.max_time) {
    report.error("epochs", "or \"max_steps\" or \"max_time\" is needed: nothing says when the run ends");
  }
  if (train.clip_norm && train.clip_value && *train.clip_value >= *train.clip_norm) {
    report.warning("clip_value",
                   "changes nothing: once \"clip_norm\" has been applied, no element is that large");
  }
}

namespace {

// Only where the two are in one unit is it known before the data is: steps in an epoch are not.
void check_warmup(const Recipe& recipe, Report& report) {
  const Duration& warmup = recipe.scheduler.common.warmup;
  const TrainSection& train = recipe.train;
  std::optional<double> length;
  if (warmup.unit == Duration::Unit::epoch) length = train.epochs;
  if (warmup.unit == Duration::Unit::step && train.max_steps) length = static_cast<double>(*train.max_steps);
  if (warmup.unit == Duration::Unit::run) length = 1.0;
  if (!length || warmup.amount == 0 || warmup.amount < *length) return;
  const std::string run = to_string(Duration{*length, warmup.unit});
  if (warmup.amount > *length) {
    report.error("scheduler",
                 "warms up for " + to_string(warmup) + ", longer than the whole run (" + run + ")");
  } else {
    report.warning("scheduler", "warms up for the whole run (" + run + "): the schedule itself never begins");
  }
}

}  // namespace

namespace {

void check_trackers(const std::vector<Part<TrackerKind>>& trackers, Report& report) {
  for (const auto& tracker : trackers) {
    if (tracker.common.logging_dir && !tracker.facts().writes_files)
      report.error("tracker", quoted(tracker.name()) +
                                  " has a logging_dir, but writes no files that could go there: delete it");
  }
}

}  // namespace

void check(const Recipe& recipe, Report& report) {
  check_trackers(recipe.tracker, report);
  check_measurements(recipe, report);
  if (recipe.train.max_steps != 0) check_warmup(recipe, report);  // 0: evaluate only, no schedule begins
}

}  // namespace runner
