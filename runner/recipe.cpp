#include "runner/recipe.hpp"

#include <algorithm>
#include <charconv>

#include "registry/suggest.hpp"

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
    report.error("average_every", "is for strategy = \"local_sgd\": every other strategy keeps the ranks equal");
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

// The names under which the evaluation reports; two metrics that report the same would overwrite each other.
std::vector<std::string> evaluation_names(const EvalSection& eval, Report& report) {
  std::vector<std::string> names;
  for (const auto& metric : eval.metric) {
    for (const std::string& name : metric.build({})->names()) {
      if (std::ranges::find(names, "eval/" + name) != names.end()) {
        report.error("eval", "has two metrics that report \"eval/" + name + "\": delete one");
      }
      names.push_back("eval/" + name);
    }
  }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// A hook may keep weights that are measured under its own name: "ema/accuracy". Whether it does is known when
// it is built.
bool measured_by_hook(const std::string& metric, const Recipe& recipe,
                      const std::vector<std::string>& names) {
  const std::string weights = metric.substr(0, metric.find('/'));
  return std::ranges::any_of(recipe.hook, [&](const auto& hook) { return hook.name() == weights; }) &&
         std::ranges::find(names, "eval" + metric.substr(weights.size())) != names.end();
}

void check_best(const Recipe& recipe, const std::vector<std::string>& names, Report& report) {
  const BestRule& best = *recipe.checkpoint.best;
  if (names.empty()) {
    return report.error("checkpoint", "keeps the best model by " + quoted(best.metric) +
                                          ", but the evaluation measures nothing: add it to [[eval.metric]]");
  }
  if (std::ranges::find(names, best.metric) == names.end() && !measured_by_hook(best.metric, recipe, names)) {
    const bool lacks_prefix = std::ranges::find(names, "eval/" + best.metric) != names.end();
    const auto meant = lacks_prefix ? std::optional("eval/" + best.metric) : nearest(best.metric, names);
    return report.error("checkpoint", "keeps the best model by " + quoted(best.metric) +
                                          ", which nothing measures" +
                                          (meant ? "; did you mean " + quoted(*meant) + "?" : "") +
                                          " (measured: " + listed(names) + ")");
  }
  if (best.mode == BestMode::max && best.metric.ends_with("loss")) {
    report.warning("checkpoint", "keeps the model with the highest " + quoted(best.metric) +
                                     "; for the lowest, say best.mode = \"min\"");
  }
}

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

void check(const Recipe& recipe, Report& report) {
  const auto names = evaluation_names(recipe.eval, report);
  if (recipe.checkpoint.best) check_best(recipe, names, report);
  check_warmup(recipe, report);
}

}  // namespace runner
