#include "runner/runs/run_record.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "components/trackers/json_number.hpp"
#include "registry/base/log.hpp"
#include "registry/diagnostics.hpp"
#include "registry/files/read_json.hpp"
#include "runner/describe/flatten.hpp"
#include "runner/runs/metrics_file.hpp"
#include "runner/runs/own_files.hpp"
#include "runner/runs/run_folder.hpp"
#include "runner/runs/whole_number.hpp"
#include "runner/toml/parse.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

std::optional<std::time_t> changed(const fs::path& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
  return facts.st_mtime;
}

Value recipe_of(const fs::path& folder) {
  const std::string text = text_of_record(folder / "recipe.toml");
  Diagnostics ignored;
  const auto source = std::make_shared<Source>();
  auto parsed = parse_toml(text, source, 0, ignored);
  return parsed ? std::move(*parsed) : Value{};
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() ? number_of_json(*found).value_or(0) : 0;
}

std::int64_t integer_at(const Json& json, const char* key) {
  return whole_number(number_at(json, key)).value_or(0);
}

std::string shown(const Value& value) {
  if (value.secret) return "(secret)";
  const auto* text = value.as<std::string>();
  return text ? *text : to_toml(value);
}

// A guess from the name, for a run without a result: its metric component may not be available here.
bool small_is_good(std::string_view metric) {
  for (const char* word : {"loss", "error", "mae", "mse", "perplexity"}) {
    if (metric.find(word) != std::string_view::npos) return true;
  }
  return false;
}

std::optional<BestValue> best_of(const RunRecord& run, const RunMetrics* metrics) {
  const auto saved = run.result.find("best");
  if (saved != run.result.end() && saved->is_object() && saved->contains("value")) {
    return BestValue{text_at(*saved, "metric"),
                     {number_at(*saved, "value"), number_at(*saved, "step"), number_at(*saved, "epoch")}};
  }
  const auto objective = run.objective();
  if (!metrics || !objective) return std::nullopt;
  const auto best = metrics->best_of(objective->metric, objective->highest);
  return best ? std::optional(BestValue{objective->metric, *best}) : std::nullopt;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> RunRecord::settings() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [path, value] : flatten(recipe)) all.emplace_back(path, shown(*value));
  return all;
}

std::optional<std::string> RunRecord::setting(std::string_view path) const {
  for (const auto& [key, value] : flatten(recipe)) {
    if (key == path) return shown(*value);
  }
  return std::nullopt;
}

std::optional<Objective> RunRecord::objective() const {
  if (const auto told = result.find("objective"); told != result.end() && told->is_object())
    return Objective{text_at(*told, "metric"), text_at(*told, "mode") == "max"};
  std::optional<std::string> metric = setting("checkpoint.best.metric");
  if (const auto mode = setting("checkpoint.best.mode"); metric && mode)
    return Objective{*metric, *mode == "max"};
  if (!metric) {
    if (const auto first = setting("eval.metric.0.name")) metric = "eval/" + *first;
  }
  return metric ? std::optional(Objective{*metric, !small_is_good(*metric)}) : std::nullopt;
}

std::map<std::string, SeriesValue> RunRecord::best_values(const RunMetrics& metrics) const {
  std::map<std::string, SeriesValue> values;
  const auto told = result.find("better");
  if (told == result.end() || !told->is_object()) return values;
  for (const auto& [metric, mode] : told->items())
    if (const auto best = metrics.best_of(metric, mode == "max")) values[metric] = *best;
  return values;
}

bool is_run_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "recipe.toml", ignored);
}

RunRecord read_run(const fs::path& folder) {
  RunRecord run{.folder = folder, .name = {}, .status = {}, .message = {}, .stand_in = {}};
  run.recipe = recipe_of(folder);
  run.name = run.setting("run.name").value_or(folder.filename().string());
  run.result = read_ordered_json_file_or_null(folder / "result.json");
  if (!run.result.is_object()) run.result = Json::object();
  run.status = text_at(run.result, "outcome");
  run.message = text_at(run.result, "message");
  if (run.status.empty()) run.status = RunFolder::owner(folder) ? "running" : "unknown";
  run.stand_in = text_of_record(folder / "STAND-IN-DATA.txt");
  const auto identity = read_ordered_json_file_or_null(folder / "run.json");
  run.started = identity.is_object() ? integer_at(identity, "started_at") : 0;
  if (run.started == 0) run.started = changed(folder / "recipe.toml").value_or(0);
  return run;
}

RunMetrics read_metrics(const fs::path& run_folder) {
  RunMetrics metrics;
  try {
    MetricsFile(run_folder / "metrics.jsonl").read([&](const Record& record) { metrics.add(record); });
  } catch (const IoError& error) {
    log::warning("{} The rest of it is not read.", error.what());
  }
  return metrics;
}

RunSummaryLine summarize(const RunRecord& run, const RunMetrics* metrics) {
  RunSummaryLine line;
  std::optional<RunMetrics> read;
  const bool told = run.result.contains("steps") && run.result.contains("best");
  if (!metrics && !told) metrics = &read.emplace(read_metrics(run.folder));
  if (metrics) {
    const Moment last = metrics->last();
    line = {whole_number(last.step).value_or(0), last.epoch, last.time};
    for (const Series& series : metrics->series()) {
      if (!series.name.starts_with("train/") && !series.name.starts_with("perf/")) {
        line.last.emplace_back(series.name, series.curve.points().back().y);
      }
    }
  }
  if (run.result.contains("steps")) {
    line.steps = integer_at(run.result, "steps");
    line.epochs = number_at(run.result, "epochs");
    line.seconds = number_at(run.result, "seconds");
  }
  if (const auto last = run.result.find("last"); last != run.result.end() && last->is_object()) {
    line.last.clear();
    for (const auto& [name, value] : last->items()) {
      if (const auto number = number_of_json(value)) line.last.emplace_back(name, *number);
    }
  }
  line.best = best_of(run, metrics);
  return line;
}

std::vector<fs::path> find_runs(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  if (is_run_folder(folder)) return {folder};
  for (fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error),
       end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored) || entry->is_symlink(ignored)) continue;
    if (!is_run_folder(entry->path())) continue;
    entry.disable_recursion_pending();
    // A checkpoint holds the recipe of its run, but is none, even if that run has lost its own.
    if (!fs::exists(entry->path() / "manifest.json", ignored)) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace runner
