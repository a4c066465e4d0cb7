#include "runner/cli/options/compared_runs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "registry/base/wording.hpp"
#include "registry/resolve_path.hpp"
#include "runner/cli/options/output_width.hpp"
#include "runner/cli/options/run_folders.hpp"
#include "runner/describe/json.hpp"
#include "runner/runs/run_comparison.hpp"
#include "runner/terminal/console.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/grid.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

// Runs with the same name are distinguished by the last part of their folders.
std::vector<std::string> labels(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs) {
    const bool alone = std::ranges::count(runs, run.name, &RunRecord::name) == 1;
    names.push_back(alone ? run.name : normal_path(run.folder).filename().string());
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

}  // namespace

std::vector<RunRecord> read_runs(const std::vector<std::string>& words, bool folders) {
  std::vector<RunRecord> runs;
  for (const auto& folder : run_folders(words, folders)) runs.push_back(read_run(folder));
  return runs;
}

void show_compared(const std::vector<RunRecord>& runs, Keep keep, bool as_json, Session& session) {
  as_json ? print_json(runs, keep, session) : print(runs, keep, session);
}

}  // namespace runner::cli
