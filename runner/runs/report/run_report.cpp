#include "runner/runs/report/run_report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "components/trackers/json_number.hpp"
#include "registry/base/log.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/read_json.hpp"
#include "runner/process/version.hpp"
#include "runner/runs/report/page.hpp"
#include "runner/runs/run_record.hpp"
#include "runner/runs/run_texts.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_points = 120'000;  // in a page: keeps it below 5 MB
constexpr std::size_t most_text = 20'000;     // bytes of one text
constexpr const char* confusion_matrix = "confusion_matrix";

// Whole numbers without ".0", which keeps pages smaller.
Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return json_number(value);
}

Json rounded(double value) { return number(std::round(value * 1000) / 1000); }

Json to_json(const Series& series) {
  Json x = Json::array(), y = Json::array();
  for (const CurvePoint& point : series.curve.points()) {
    x.push_back(number(point.x));
    y.push_back(number(point.y));
  }
  return {{"name", series.name}, {"count", series.curve.added()}, {"x", std::move(x)}, {"y", std::move(y)}};
}

Json to_json(const std::vector<Moment>& clock) {
  Json step = Json::array(), epoch = Json::array(), time = Json::array();
  for (const Moment& moment : clock) {
    step.push_back(number(moment.step));
    epoch.push_back(number(moment.epoch));
    time.push_back(rounded(moment.time));
  }
  return {{"step", std::move(step)}, {"epoch", std::move(epoch)}, {"time", std::move(time)}};
}

// Reads the table that the metric prints: a line of explanation, one of column names, and one per class,
// whose name may contain spaces and whose counts are at the end.
Json matrix_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (lines.size() < 3 || !lines[0].starts_with("rows:")) return nullptr;
  const std::size_t classes = lines.size() - 2;
  Json names = Json::array(), counts = Json::array();
  for (std::size_t row = 0; row < classes; ++row) {
    std::string line = lines[row + 2];
    std::vector<std::int64_t> cells(classes);
    for (std::size_t i = classes; i-- > 0;) {
      const auto space = line.find_last_of(' ');
      if (space == std::string::npos) return nullptr;
      const auto [end, error] = std::from_chars(line.data() + space + 1, line.data() + line.size(), cells[i]);
      if (error != std::errc{} || end != line.data() + line.size()) return nullptr;
      line.erase(line.find_last_not_of(' ', space) + 1);
    }
    names.push_back(line);
    counts.push_back(cells);
  }
  return {{"names", std::move(names)}, {"counts", std::move(counts)}};
}

Json texts_of(const fs::path& folder, std::size_t room) {
  Json texts = Json::array();
  for (const auto& [tag, text] : read_texts(folder / "texts.jsonl")) {
    const std::string shown = text.substr(0, std::min(most_text, room));
    room -= shown.size();
    Json entry{{"tag", tag}, {"text", shown}};
    if (tag.ends_with(confusion_matrix)) entry["matrix"] = matrix_of(text);
    texts.push_back(std::move(entry));
  }
  return texts;
}

Json to_json(const BestValue& best) {
  return {{"metric", best.metric},
          {"value", number(best.at.value)},
          {"step", number(best.at.step)},
          {"epoch", rounded(best.at.epoch)}};
}

// What the hook sample_predictions wrote, including images if the data has any.
Json predictions_of(const fs::path& folder) {
  return read_json_file_or_null(folder / "sample_predictions.json");
}

Json run_data(const fs::path& folder, std::size_t points, std::size_t room_for_texts, bool with_images) {
  const RunRecord run = read_run(folder);
  RunMetrics metrics = read_metrics(folder);
  const RunSummaryLine line = summarize(run, &metrics);
  metrics.thin(points);
  Json json{{"name", run.name},       {"folder", folder.string()},      {"status", run.status},
            {"message", run.message}, {"stand_in", run.stand_in},       {"started", run.started},
            {"steps", line.steps},    {"epochs", rounded(line.epochs)}, {"seconds", rounded(line.seconds)}};
  if (line.best) json["best"] = to_json(*line.best);
  json["best_values"] = Json::object();
  for (const auto& [metric, best] : run.best_values(metrics))
    json["best_values"][metric] = {number(best.value), number(best.step)};
  json["last"] = Json::object();
  for (const auto& [name, value] : line.last) json["last"][name] = number(value);
  for (const char* part : {"time", "versions", "files"}) {
    if (const auto found = run.result.find(part); found != run.result.end()) json[part] = *found;
  }
  json["warnings"] = warnings_in(folder / "log.txt");
  json["texts"] = texts_of(folder, room_for_texts);
  if (with_images) {
    Json predictions = predictions_of(folder);
    const bool usable = predictions.is_object() && predictions.contains("samples");
    if (usable && predictions["samples"].is_array()) json["predictions"] = std::move(predictions);
  }
  json["settings"] = Json::object();
  for (const auto& [path, value] : run.settings()) json["settings"][path] = value;
  json["clock"] = to_json(metrics.clock());
  json["series"] = Json::array();
  for (const Series& series : metrics.series()) json["series"].push_back(to_json(series));
  return json;
}

std::string title_of(const Json& runs) {
  std::string title = runs.front()["name"];
  if (runs.size() > 1) title += " and " + std::to_string(runs.size() - 1) + " more";
  return title;
}

}  // namespace

Json report_data(const std::vector<fs::path>& runs) {
  Json all = Json::array();
  const bool few = runs.size() <= 8;
  for (const fs::path& folder : runs) {
    all.push_back(run_data(folder, most_points / runs.size(), few ? 10 * most_text : most_text / 4, few));
  }
  const std::string title = title_of(all);
  return {{"title", title}, {"version", version_text}, {"runs", std::move(all)}};
}

std::string run_report(const std::vector<fs::path>& runs) {
  const Json data = report_data(runs);
  return html_page(data["title"].get<std::string>(), "report", data);
}

bool leave_report(const fs::path& run) {
  try {
    write_atomically(run / "report.html", run_report({run}));
    return true;
  } catch (const std::exception& error) {
    log::warning("The report of the run could not be written: {}", error.what());
    return false;
  }
}

}  // namespace runner
