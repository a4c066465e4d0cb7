#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "components/trackers/json_number.hpp"
#include "registry/base/suggest.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/output_width.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/runs/condition.hpp"
#include "runner/runs/run_record.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/grid.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

struct Row {
  RunRecord run;
  RunSummaryLine line;
};

const std::vector<std::string> sort_keys{"name", "status", "steps", "best", "duration", "when"};

std::string date_text(std::time_t time) {
  if (time == 0) return "";
  std::tm local{};
  localtime_r(&time, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

void sort(std::vector<Row>& rows, const std::string& key) {
  const auto by = [&](const auto& of) { std::ranges::stable_sort(rows, {}, of); };
  if (key == "name") by([](const Row& row) { return std::pair(row.run.name, row.run.folder.string()); });
  if (key == "status") by([](const Row& row) { return row.run.status; });
  if (key == "steps") by([](const Row& row) { return row.line.steps; });
  if (key == "duration") by([](const Row& row) { return row.line.seconds; });
  if (key == "when") by([](const Row& row) { return row.run.started; });
  if (key == "best") {  // the best last, like the newest; runs without a number first
    by([](const Row& row) {
      if (!row.line.best || std::isnan(row.line.best->at.value))
        return -std::numeric_limits<double>::infinity();
      const auto objective = row.run.objective();
      return objective && !objective->highest ? -row.line.best->at.value : row.line.best->at.value;
    });
  }
}

std::string coloured_status(const std::string& status, const Style& style) {
  if (status == "finished") return style.green(status);
  if (status == "failed") return style.red(status);
  if (status == "running") return style.cyan(status);
  return status == "unknown" ? style.dim(status) : style.yellow(status);
}

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json json{{"folder", row.run.folder.string()}, {"name", row.run.name},
                              {"status", row.run.status},          {"steps", row.line.steps},
                              {"epochs", row.line.epochs},         {"seconds", row.line.seconds},
                              {"started", row.run.started}};
  if (!row.run.message.empty()) json["message"] = row.run.message;
  if (row.line.best) {
    const auto& [metric, at] = *row.line.best;
    json["best"] = {
        {"metric", metric}, {"value", json_number(at.value)}, {"step", at.step}, {"epoch", at.epoch}};
  }
  json["last"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : row.line.last) json["last"][name] = json_number(value);
  if (!row.run.stand_in.empty()) json["stand_in"] = row.run.stand_in;
  json["settings"] = runner::to_json(row.run.recipe);
  return json;
}

// The folder of each run above its other columns, for terminals too narrow for all of them in one line.
std::string stacked(std::vector<GridColumn> columns, std::vector<std::vector<std::string>> cells,
                    const Style& style) {
  std::vector<std::string> folders;
  columns.pop_back();
  columns.insert(columns.begin(), {""});  // the others are indented
  for (auto& row : cells) {
    folders.push_back(std::move(row.back()));
    row.pop_back();
    row.insert(row.begin(), "");
  }
  std::istringstream lines(grid(columns, cells, style));
  std::string line;
  std::getline(lines, line);
  std::string text = line + "\n";
  for (const std::string& folder : folders) {
    std::getline(lines, line);
    text += folder + "\n" + line + "\n";
  }
  return text;
}

// By default a folder is runs/<name>/<when>, so a narrow terminal needs no columns for these two.
void print(const std::vector<Row>& rows, Session& session) {
  const Style& style = session.out_style;
  std::vector<GridColumn> columns{{"name"},           {"status"}, {"steps", true}, {"best"},
                                  {"duration", true}, {"when"},   {"folder"}};
  std::vector<std::vector<std::string>> cells;
  for (const auto& [run, line] : rows) {
    const std::string best =
        line.best ? escaped_name(line.best->metric) + " " + measured(line.best->at.value) : "";
    cells.push_back({escaped_name(run.name), coloured_status(escaped_name(run.status), style),
                     grouped(line.steps), best, duration_text(line.seconds), date_text(run.started),
                     style.dim(printable(run.folder.string()))});
  }
  const std::size_t width = output_width(session);
  for (const char* name : {"when", "name", "duration"}) {
    if (grid_width(columns, cells) <= width) break;
    const auto place = std::ranges::find(columns, name, &GridColumn::name) - columns.begin();
    columns.erase(columns.begin() + place);
    for (auto& row : cells) row.erase(row.begin() + place);
  }
  const bool fits = grid_width(columns, cells) <= width;
  session.out << (fits ? grid(columns, cells, style) : stacked(columns, cells, style));
}

std::vector<Row> read_all(const std::filesystem::path& folder) {
  std::vector<Row> rows;
  for (const auto& path : find_runs(folder)) {
    rows.push_back({read_run(path), {}});
    rows.back().line = summarize(rows.back().run);
  }
  return rows;
}

// A key that no run has is an error, not a condition that is never true.
std::optional<Problem> unknown_key(const std::vector<Row>& rows, const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    const auto applies = [&](const Row& row) { return condition.applies(row.run, row.line); };
    if (rows.empty() || condition.key == "best" || std::ranges::any_of(rows, applies)) continue;
    std::vector<std::string> keys{"name", "status", "steps", "best", "duration"};
    for (const Row& row : rows) {
      for (auto& [key, value] : row.run.settings()) keys.push_back(std::move(key));
      for (const auto& [metric, value] : row.line.last) keys.push_back(metric);
    }
    Problem problem{"no run has a value for " + in_quotes(condition.key), {}, "runner runs --help"};
    if (const auto hint = did_you_mean(condition.key, keys)) problem.hints.push_back(*hint);
    return problem;
  }
  return std::nullopt;
}

int run(const Arguments& arguments, Session& session) {
  const std::filesystem::path folder = arguments.has("DIR") ? arguments.get("DIR") : "runs";
  const std::string key = arguments.has("sort") ? arguments.get("sort") : "when";
  if (std::ranges::find(sort_keys, key) == sort_keys.end()) {
    Problem problem{
        "runs cannot be sorted by " + in_quotes(key), {"keys: " + joined(sort_keys)}, "runner runs --help"};
    if (const auto hint = did_you_mean(key, sort_keys)) problem.hints.insert(problem.hints.begin(), *hint);
    return refuse(problem, session);
  }
  std::vector<Condition> conditions;
  try {
    for (const std::string& text : arguments.all("where")) conditions.push_back(Condition::parse(text));
  } catch (const std::invalid_argument& error) {
    return refuse({error.what(), {}, "runner runs --help"}, session);
  }
  if (!std::filesystem::is_directory(folder)) {
    return refuse({"there is no folder " + in_quotes(folder.string()),
                   {"runs are written to runs/ in the current folder"},
                   {}},
                  session);
  }
  std::vector<Row> rows = read_all(folder);
  if (const auto problem = unknown_key(rows, conditions)) return refuse(*problem, session);
  std::erase_if(rows, [&](const Row& row) {
    return !std::ranges::all_of(
        conditions, [&](const Condition& condition) { return condition.holds(row.run, row.line); });
  });
  sort(rows, key);
  if (arguments.has("reverse")) std::ranges::reverse(rows);
  if (arguments.has("json")) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Row& row : rows) list.push_back(to_json(row));
    session.out << dumped(list);
  } else if (rows.empty()) {
    session.out << (conditions.empty() ? "no run in " : "no matching run in ")
                << shown_message(folder.string()) << "\n";
  } else {
    print(rows, session);
  }
  return Exit::done;
}

}  // namespace

Command runs_command() {
  return {
      .name = "runs",
      .summary = "List runs: status, steps, best value, duration.",
      .arguments = {{"DIR", "Folder to search, with its subfolders; default: runs/.",
                     Argument::Count::optional, Word::file}},
      .options = {{.name = "where",
                   .doc = "Only runs for which this is true: KEY=VALUE, or !=, <, <=, >, >=. KEY is a key of "
                          "the recipe, or name, status, steps, best or duration (in seconds, or 1h). May be "
                          "given several times; all must be true.",
                   .value = "CONDITION",
                   .many = true},
                  {.name = "sort",
                   .doc = "Sort by name, status, steps, best, duration or when (default); the largest last.",
                   .value = "KEY"},
                  {.name = "reverse", .doc = "Reverse the order."},
                  {.name = "json", .doc = "The same with all settings as JSON, for programs."}},
      .examples = {{"runner runs", "all runs below runs/"},
                   {"runner runs --where optimizer.name=sgd --sort best", "some of them, the best last"}},
      .run = &run,
      .details =
          "A run without a result is \"running\" if a process has its folder open, otherwise \"unknown\": it "
          "was killed."};
}

}  // namespace runner::cli
