#include "components/datasets/columns/column_roles.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "components/datasets/read/notation.hpp"
#include "registry/base/log.hpp"
#include "registry/base/number_text.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

struct Cell {
  std::int64_t line = 0;
  std::string text = {};
};

// Detects numbers that count the rows; rows that belong to another part of the file leave gaps.
struct Counting {
  bool counts = true;
  std::optional<double> first = {};
  double last = 0;
  bool fractions = false;
  std::set<double> different = {};  // the first few

  void add(double number) {
    fractions = fractions || std::trunc(number) != number;
    if (different.size() <= few) different.insert(number);
    counts = counts && std::trunc(number) == number && (!first || number > last);
    if (!first) first = number;
    last = number;
  }
  bool counts_rows(std::int64_t rows) const {
    return counts && first && last - *first < static_cast<double>(rows);
  }
  // Hardly codes of categories.
  bool measured() const { return fractions || different.size() > few; }

 private:
  static constexpr std::size_t few = 20;
};

struct Contents {  // of one column
  std::int64_t numbers = 0, texts = 0;
  std::int64_t marks = 0;  // texts that mean a missing value, if the others are numbers
  Counting counting = {};
  std::int64_t otherwise = 0;    // texts that may be numbers in another notation
  std::vector<Cell> cells = {};  // the first few different texts

  void add(const RowReader& row, std::size_t column) {
    constexpr std::size_t kept = 4;
    const std::string_view text = row.values()[column];
    ++texts;
    otherwise += other_notation(text).has_value() || !unit_after(text).empty();
    const bool seen = std::ranges::find(cells, text, &Cell::text) != cells.end();
    if (!seen && cells.size() < kept) cells.push_back({row.line(), std::string(text)});
  }

  // Numbers with only a few texts that repeat, as of a missing value that is not a usual one.
  bool numbers_and_few_texts() const {
    constexpr std::size_t most_texts = 3;
    return numbers >= 9 * texts ||
           (numbers >= texts && texts > 1 && cells.size() <= most_texts && counting.measured());
  }

  std::string shown() const {
    constexpr std::size_t shown_cells = 3;
    std::vector<std::string> places;
    for (const Cell& cell : cells)
      if (places.size() < shown_cells)
        places.push_back(in_quotes(cell.text) + " in line " + std::to_string(cell.line));
    return joined(places) + (texts > std::ssize(places) ? " .." : "");
  }
};

class RoleFinder {
 public:
  RoleFinder(const TablePart& training, const ColumnChoice& choice)
      : training_(training), choice_(choice), roles_(training.columns().size()) {
    assign({choice.target}, ColumnRole::target);
    assign(choice.numeric, ColumnRole::numeric);
    assign(choice.categorical, ColumnRole::categorical);
    assign(choice.ignore, ColumnRole::ignored);
  }

  std::vector<ColumnRole> find() const {
    const std::vector<Contents> contents = look();
    require_notation(contents);
    std::vector<ColumnRole> found;
    for (std::size_t i = 0; i < roles_.size(); ++i)
      found.push_back(roles_[i] ? *roles_[i] : role_of(i, contents[i]));
    return found;
  }

 private:
  void assign(const std::vector<std::string>& names, ColumnRole role) {
    for (const std::string& name : names)
      roles_[find_column(training_.columns(), name, training_.name())] = role;
  }

  std::vector<Contents> look() const {
    std::vector<Contents> contents(roles_.size());
    bool needed = false;
    for (std::size_t i = 0; i < roles_.size(); ++i) needed = needed || may_hold_numbers(i);
    if (!needed) return contents;
    training_.each([&](const RowReader& row) {
      for (std::size_t i = 0; i < roles_.size(); ++i) {
        if (!may_hold_numbers(i) || training_.format().is_missing(row.values()[i])) continue;
        Contents& found = contents[i];
        if (const auto number = parse_number(row.values()[i], training_.format().numbers)) {
          ++found.numbers;
          found.counting.add(*number);
        } else if (training_.format().is_missing_number(row.values()[i])) {
          ++found.marks;
        } else {
          found.add(row, i);
        }
      }
    });
    return contents;
  }

  bool may_hold_numbers(std::size_t column) const {
    return !roles_[column] || *roles_[column] == ColumnRole::numeric ||
           (*roles_[column] == ColumnRole::target && choice_.regression);
  }

  // Numbers in another notation than that of the recipe are refused, with the notation of the whole table.
  void require_notation(const std::vector<Contents>& contents) const {
    if (std::ranges::none_of(contents, [](const Contents& found) { return found.otherwise > 0; })) return;
    const TableFormat& format = training_.format();
    std::vector<ColumnNotation> columns(roles_.size());
    training_.each([&](const RowReader& row) {
      for (std::size_t i = 0; i < roles_.size(); ++i) {
        if (may_hold_numbers(i) && !format.is_missing_number(row.values()[i]))
          columns[i].add(row.values()[i]);
      }
    });
    std::vector<const ColumnNotation*> numeric;
    for (const ColumnNotation& column : columns) numeric.push_back(&column);
    const TableNotation table(numeric, format.csv.separator);
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      const Contents& found = contents[i];
      if (found.otherwise == 0) continue;
      const std::string name = training_.name() + ": column " + in_quotes(training_.columns()[i]);
      const std::string otherwise =
          roles_[i] ? "" : ", or name the column in dataset.categorical or dataset.ignore";
      if (columns[i].in_different_units()) {
        throw IoError(log::format("{} has numbers in different units ({}): {}. Convert them to one unit{}.",
                                  name, listed(columns[i].units()), found.shown(), otherwise));
      }
      const bool nearly = found.numbers + found.otherwise >= 9 * (found.texts - found.otherwise) &&
                          columns[i].nearly_numeric();
      if (!columns[i].numeric() && !nearly) continue;
      const std::string settings = notation_settings(table.format(), format.numbers);
      if (settings.empty() || !columns[i].numeric()) {
        throw IoError(log::format(
            "{} looks numeric, but its numbers are written in different ways: {}. Write them in one way{}.",
            name, found.shown(), otherwise));
      }
      throw IoError(log::format(
          "{} looks numeric, but is not in the expected number format: {}. If these are numbers, set how "
          "they are written ({}){}.{}",
          name, found.shown(), settings,
          roles_[i] ? "" : "; if not, name the column in dataset.categorical or dataset.ignore",
          table.sure()
              ? ""
              : log::format(" With these, {} is {}: see that this is right.", in_quotes(table.example()),
                            number_text(parse_number(table.example(), table.format()).value_or(0)))));
    }
  }

  // Text among numbers is far more often a mistake than a category: the user has to decide.
  ColumnRole role_of(std::size_t column, const Contents& found) const {
    const std::string& name = training_.columns()[column];
    if (found.numbers + found.texts + found.marks == 0) {
      log::warning("{}: column {} is ignored: it has no value in the training set.", training_.name(),
                   in_quotes(name));
      return ColumnRole::ignored;
    }
    if (found.texts > 0 && found.numbers_and_few_texts()) {
      throw IoError(
          log::format("{}:{}: column {} contains {} numbers and {}: {}. Correct them, or add them to "
                      "dataset.missing, or name the column in dataset.categorical or dataset.ignore.",
                      training_.name(), found.cells.front().line, in_quotes(name), found.numbers,
                      counted(static_cast<std::size_t>(found.texts), "other value"), found.shown()));
    }
    if (found.texts > 0 || found.numbers == 0) return ColumnRole::categorical;
    look_for_row_numbers(name, found);
    return ColumnRole::numeric;
  }

  // In a file that is sorted by class, the row number reveals the class.
  void look_for_row_numbers(const std::string& name, const Contents& found) const {
    constexpr std::int64_t too_few_to_tell = 10;
    if (found.numbers < std::max(training_.size(), too_few_to_tell) ||
        !found.counting.counts_rows(training_.rows_in_file()))
      return;
    log::warning(
        "{}: column {} counts the rows, and the model learns from it. If these are only row numbers, name "
        "the column in dataset.ignore; if not, in dataset.numeric.",
        training_.name(), in_quotes(name));
  }

  const TablePart& training_;
  const ColumnChoice& choice_;
  std::vector<std::optional<ColumnRole>> roles_;  // those that the recipe says
};

}  // namespace

std::vector<ColumnRole> column_roles(const TablePart& training, const ColumnChoice& choice) {
  return RoleFinder(training, choice).find();
}

}  // namespace runner
