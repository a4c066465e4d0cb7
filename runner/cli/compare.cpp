#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "registry/wording.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/output_width.hpp"
#include "runner/cli/problem.hpp"
#include "runner/cli/run_folders.hpp"
#include "runner/console/console.hpp"
#include "runner/describe/json.hpp"
#include "runner/runs/run_comparison.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/grid.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

using Keep = bool (*)(const ComparedSection&, const ComparedRow&);

std::vector<RunRecord> read_all(const std::vector<std::string>& words, bool folders) {
  std::vector<RunRecord> runs;
  for (const auto& folder : run_folders(words, folders)) runs.push_back(read_run(folder));
  return runs;
}

// Runs with the same name are distinguished by the last part of their folders.
std::vector<std::string> labels(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs) {
    const bool alone = std::ranges::count(runs, run.name, &RunRecord::name) == 1;
    names.push_back(alone ? run.name : run.folder.lexically_normal().filename().string());
  }
  return names;
}

struct ComparedTable {
  std::vector<GridColumn> columns;
  std::vector<std::vector<std::string>> rows;

  std::size_t width() const { return grid_width(columns, rows); }
  void add(const ComparedTable& other, std::size_t column) {
    columns.push_back(other.columns[column]);
    rows.resize(other.rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(other.rows[i][column]);
  }

  // At least one run then fits beside the names of the rows, which get up to three fifths of a line.
  void shorten(std::size_t line, bool utf8) {
    constexpr std::size_t widest_line = 200, widest_value = 40, least = 6, gap = 2;
    line = std::min(line, widest_line);
    std::size_t names = 0;
    for (const auto& row : rows) names = std::max(names, visible_width(row[0]));
    names = std::min(names, line * 3 / 5);
    const std::size_t room = std::max(least, line - std::min(line, names + gap));
    for (std::size_t i = 1; i < columns.size(); ++i) columns[i].name = shortened(columns[i].name, room, utf8);
    for (auto& row : rows) {
      row[0] = shortened(row[0], names, utf8);
      for (std::size_t i = 1; i < row.size(); ++i)
        row[i] = shortened(row[i], std::min(room, widest_value), utf8);
    }
  }
};

ComparedTable table_of(const std::vector<RunRecord>& runs, Keep keep, const Style& style) {
  ComparedTable table{{{""}}, {}};
  for (const std::string& label : labels(runs)) table.columns.push_back({escaped_name(label), true});
  for (const ComparedSection& section : compare_runs(runs)) {
    const std::size_t before = table.rows.size();
    for (const ComparedRow& row : section.rows) {
      if (!keep(section, row)) continue;
      if (table.rows.size() == before) {
        std::vector<std::string> title(table.columns.size());
        title[0] = style.cyan(section.title);
        table.rows.push_back(std::move(title));
      }
      std::vector<std::string> cells{"  " + escaped_name(row.key)};
      for (const std::string& value : row.values) cells.push_back(escaped_name(value));
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

// As many runs side by side as fit into a line, and the others below.
void print(const std::vector<RunRecord>& runs, Keep keep, Session& session) {
  ComparedTable all = table_of(runs, keep, session.out_style);
  if (all.rows.empty()) {
    session.out << "no difference\n";
    return;
  }
  const std::size_t width = output_width(session);
  all.shorten(width, ConsoleOutput::standard_output().utf8);
  for (std::size_t run = 1; run < all.columns.size();) {
    ComparedTable shown;
    shown.add(all, 0);
    for (const std::size_t first = run; run < all.columns.size(); ++run) {
      ComparedTable wider = shown;
      wider.add(all, run);
      if (run > first && wider.width() > width) break;
      shown = std::move(wider);
    }
    session.out << grid(shown.columns, shown.rows, session.out_style);
    if (run < all.columns.size()) session.out << "\n";
  }
}

void print_json(const std::vector<RunRecord>& runs, Keep keep, Session& session) {
  nlohmann::ordered_json json{{"runs", nlohmann::ordered_json::array()}};
  for (const RunRecord& run : runs) json["runs"].push_back(run.folder.string());
  for (const ComparedSection& section : compare_runs(runs)) {
    auto& held = json[section.title] = nlohmann::ordered_json::object();
    for (const ComparedRow& row : section.rows) {
      if (keep(section, row)) held[row.key] = row.values;
    }
  }
  session.out << dumped(json);
}

int show(const std::vector<RunRecord>& runs, Keep keep, const Arguments& arguments, Session& session) {
  arguments.has("json") ? print_json(runs, keep, session) : print(runs, keep, session);
  return Exit::done;
}

bool result_or_difference(const ComparedSection& section, const ComparedRow& row) {
  return section.title == "results" || row.differs();
}
bool difference(const ComparedSection&, const ComparedRow& row) { return row.differs(); }
bool anything(const ComparedSection&, const ComparedRow&) { return true; }

int compare(const Arguments& arguments, Session& session) {
  const auto runs = read_all(arguments.all("RUN"), true);
  return show(runs, arguments.has("all") ? anything : result_or_difference, arguments, session);
}

int diff(const Arguments& arguments, Session& session) {
  const auto runs = read_all({arguments.get("RUN"), arguments.get("OTHER")}, false);
  return show(runs, difference, arguments, session);
}

}  // namespace

Command compare_command() {
  return {
      .name = "compare",
      .summary = "Show the results of several runs side by side, and the settings that differ.",
      .arguments = {{"RUN",
                     "Run folders, names of runs (the last one of each), or folders of runs (all of them).",
                     Argument::Count::at_least_one, Word::file}},
      .options = {{.name = "all", .doc = "Show settings that are equal, too."},
                  {.name = "json", .doc = "The same as JSON, for programs."}},
      .examples = {{"runner compare runs/sgd runs/adamw", "two runs"},
                   {"runner compare runs/shapes", "all runs of that name"}},
      .run = &compare};
}

Command diff_command() {
  return {.name = "diff",
          .summary = "Show what differs between two runs: recipe, data, versions, results.",
          .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                         Word::file},
                        {"OTHER", "The other run.", Argument::Count::one, Word::file}},
          .options = {{.name = "json", .doc = "The same as JSON, for programs."}},
          .examples = {{"runner diff runs/shapes/20260131-120000 runs/shapes/20260131-130000",
                        "two runs of one recipe"}},
          .run = &diff};
}

}  // namespace runner::cli
