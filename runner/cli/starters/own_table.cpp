// Tables: what the columns hold, which one to predict, how numbers are written.
#include <algorithm>
#include <ranges>
#include <set>

#include "components/datasets/columns/table_part.hpp"
#include "registry/base/number_text.hpp"
#include "registry/base/wording.hpp"
#include "runner/cli/starters/own_data.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

// A first line such as "150,4,setosa,versicolor,virginica", which says what the table holds. Names may be
// numbers that count, as pandas writes them.
bool describes_the_table(const Sheet& sheet) {
  double last = -1;
  bool numbers = false, count = true;
  for (const Column& column : sheet.columns) {
    const auto number = parse_number(column.name);
    if (!number) continue;
    count = count && (numbers ? *number == last + 1 : *number == 0 || *number == 1);
    numbers = true;
    last = *number;
  }
  return sheet.header && numbers && !count;
}

// As written by to_csv of pandas, and by its read_csv and to_csv after that: "", "Unnamed: 0", "Unnamed:
// 0.1".
bool has_row_numbers(const Column& column) {
  return (column.name.empty() || column.name.starts_with("Unnamed: 0")) && column.numeric() &&
         column.fractions == 0;
}

struct Target {
  const Column* column;
  std::string why;  // empty: it was named
};

// The usual name of one, or the last column; a separator at the end of the lines makes a column of nothing.
Target target_of(const Sheet& sheet, const std::string& typed) {
  for (const Column& column : sheet.columns)
    if (!typed.empty() && column.name == typed) return {&column, ""};
  if (const Column* named = column_called(sheet, {"target", "label", "class", "y", "outcome"}))
    return {named, "its name says so"};
  const auto from_the_end = std::views::reverse(sheet.columns);
  const auto last = std::ranges::find_if(
      from_the_end, [](const Column& column) { return !column.name.empty() && column.filled > 0; });
  return {last == from_the_end.end() ? &sheet.columns.back() : &*last, "it is the last column"};
}

// How the numbers are written, if not as usual, and what an ambiguous one is taken for.
void say_notation(const Sheet& sheet, StartingPoint& start) {
  const std::string settings = notation_settings(sheet.numbers, {});
  if (!sheet.ambiguous.empty()) {
    const bool as_thousands = sheet.numbers.thousands != 0;
    const char mark = sheet.ambiguous.find(',') != std::string::npos ? ',' : '.';
    const char point = mark == ',' ? '.' : ',';
    const NumberFormat other = as_thousands ? NumberFormat{mark, 0, sheet.numbers.units}
                                            : NumberFormat{point, mark, sheet.numbers.units};
    start.notes.push_back(in_quotes(sheet.ambiguous) + " is taken for " +
                          number_text(parse_number(sheet.ambiguous, sheet.numbers).value_or(0)) +
                          "; if it is " + number_text(parse_number(sheet.ambiguous, other).value_or(0)) +
                          ", set " + notation_settings(other, sheet.numbers));
  } else if (!settings.empty()) {
    for (const Column& column : sheet.columns) {
      if (!column.numeric()) continue;
      const auto unusual = std::ranges::find_if(column.values, [&](const auto& value) {
        return !parse_number(value.first) && parse_number(value.first, sheet.numbers);
      });
      if (unusual == column.values.end()) continue;
      start.notes.push_back("numbers are read with " + settings + ": " + in_quotes(unusual->first) + " is " +
                            number_text(*parse_number(unusual->first, sheet.numbers)));
      return;
    }
  }
}

// What is taken for missing among numbers, and may be something else.
void say_marks(const Sheet& sheet, StartingPoint& start) {
  const TableFormat usual{.missing = {usual_missing.begin(), usual_missing.end()}, .usual_marks = true};
  std::set<std::string> marks;
  std::vector<std::string> columns;
  for (const Column& column : sheet.columns) {
    if (!column.numeric() || column.marks == 0) continue;
    columns.push_back(in_quotes(column.name));
    for (const auto& [value, count] : column.values)
      if (usual.is_missing_number(value)) marks.insert(in_quotes(value));
  }
  if (columns.empty()) return;
  start.notes.push_back(joined({marks.begin(), marks.end()}) + (marks.size() == 1 ? " means" : " mean") +
                        " a missing value in " + listed(columns) + "; dataset.missing lists what else does");
}

}  // namespace

Found start_from_table(const fs::path& data, const std::vector<std::string>& typed) {
  constexpr std::size_t most_classes = 20;  // with more distinct numbers, it is a regression
  if (fs::is_directory(data)) return Problem{data.string() + " is a folder; name the file with the table"};
  if (!fs::is_regular_file(data)) return Problem{"there is no file " + data.string()};
  const Typed known = typed_settings(typed);
  const Sheet sheet = look_at(data, known.format);
  if (sheet.columns.size() < 2)
    return Problem{data.string() + " has fewer than two columns",
                   {"if other lines come before the table, skip them: dataset.skip_lines=1, or "
                    "dataset.comment=# for those that start with #"}};
  const auto [target, why] = target_of(sheet, known.target);
  const bool regression =
      target->numeric() && (target->fractions > 0 || target->values.size() > most_classes);
  if (const auto problem = several_labels(*target); problem && !regression) return *problem;
  StartingPoint start{task_recipe(regression ? "regression" : "table"),
                      {setting("dataset.train", full_path(data)), setting("dataset.target", target->name)}};
  if (!why.empty()) {
    start.notes.push_back("the column to predict is " + in_quotes(target->name) + ": " + why +
                          "; another one: dataset.target=NAME");
  }
  if (sheet.separator != ",") start.overrides.push_back(setting("dataset.separator", sheet.separator));
  if (sheet.numbers.decimal != '.')
    start.overrides.push_back(setting("dataset.decimal", {sheet.numbers.decimal}));
  if (sheet.numbers.thousands)
    start.overrides.push_back(setting("dataset.thousands", {sheet.numbers.thousands}));
  if (!sheet.numbers.units.empty())
    start.overrides.push_back("dataset.units=" + list_of(sheet.numbers.units));
  say_notation(sheet, start);
  say_marks(sheet, start);
  say_lines(data, sheet, start);
  if (!sheet.header) start.notes.back() += "; dataset.header=true takes it as their names";
  if (!known.format.header && describes_the_table(sheet))
    start.notes.push_back(
        "the first line of " + data.string() +
        " is taken as the names of the columns, but has numbers; if it is not part of the table, "
        "dataset.skip_lines=1 skips it");
  const auto is_ignored = [&](const Column& column) { return &column != target && has_row_numbers(column); };
  std::vector<Column> ignored;
  std::ranges::copy_if(sheet.columns, std::back_inserter(ignored), is_ignored);
  if (!ignored.empty()) start.overrides.push_back("dataset.ignore=" + names_of(ignored));
  choose_length(sheet.rows, 1500, 128, 20, start);
  return start;
}

}  // namespace runner::cli
