#include "components/datasets/columns/column_roles.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "components/datasets/read/number.hpp"
#include "registry/base/log.hpp"
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

  void add(double number) {
    counts = counts && std::trunc(number) == number && (!first || number > last);
    if (!first) first = number;
    last = number;
  }
  bool counts_rows(std::int64_t rows) const {
    return counts && first && last - *first < static_cast<double>(rows);
  }
};

struct Contents {  // of one column
  std::int64_t numbers = 0, texts = 0;
  Counting counting = {};
  std::int64_t otherwise = 0;            // texts that are numbers in another notation
  std::vector<Cell> cells = {};          // the first few texts
  std::optional<NumberFormat> notation;  // of the first one in another notation

  void add(const CsvReader& row, std::size_t column) {
    constexpr std::size_t shown = 3;
    const std::string_view text = row.values()[column];
    ++texts;
    if (cells.size() < shown) cells.push_back({row.line(), std::string(text)});
    const auto other = other_notation(text);
    otherwise += other.has_value();
    if (other && (!notation || !parse_number(text, *notation))) notation = other;
  }

  std::string shown() const {
    std::vector<std::string> places;
    for (const Cell& cell : cells)
      places.push_back(in_quotes(cell.text) + " in line " + std::to_string(cell.line));
    return joined(places) + (texts > std::ssize(cells) ? " .." : "");
  }
};

// What to change in `current`.
std::string setting_of(const NumberFormat& format, const NumberFormat& current) {
  std::vector<std::string> settings;
  if (format.decimal != current.decimal)
    settings.push_back(std::string("dataset.decimal = \"") + format.decimal + "\"");
  if (format.thousands) settings.push_back(std::string("dataset.thousands = \"") + format.thousands + "\"");
  for (const std::string& unit : format.units)
    settings.push_back("dataset.units = [" + in_quotes(unit) + "]");
  return joined(settings);
}

class RoleFinder {
 public:
  RoleFinder(const TablePart& training, const ColumnChoice& choice)
      : training_(training), roles_(training.columns().size()) {
    assign({choice.target}, ColumnRole::target);
    assign(choice.numeric, ColumnRole::numeric);
    assign(choice.categorical, ColumnRole::categorical);
    assign(choice.ignore, ColumnRole::ignored);
  }

  std::vector<ColumnRole> find() const {
    const bool known = std::ranges::all_of(roles_, [](const auto& role) { return role.has_value(); });
    const std::vector<Contents> contents = known ? std::vector<Contents>(roles_.size()) : look();
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
    training_.each([&](const CsvReader& row) {
      for (std::size_t i = 0; i < roles_.size(); ++i) {
        if (roles_[i] || training_.format().is_missing(row.values()[i])) continue;
        Contents& found = contents[i];
        if (const auto number = parse_number(row.values()[i], training_.format().numbers)) {
          ++found.numbers;
          found.counting.add(*number);
        } else {
          found.add(row, i);
        }
      }
    });
    return contents;
  }

  // Text among numbers is far more often a mistake than a category: the user has to decide.
  ColumnRole role_of(std::size_t column, const Contents& found) const {
    const std::string& name = training_.columns()[column];
    if (found.numbers + found.texts == 0) {
      log::warning("{}: column {} is ignored: it has no value in the training set.", training_.name(),
                   in_quotes(name));
      return ColumnRole::ignored;
    }
    if (found.otherwise > 0 && found.numbers + found.otherwise >= 9 * (found.texts - found.otherwise)) {
      throw IoError(log::format(
          "{}: column {} looks numeric, but is not in the expected number format: {}. If these are numbers, "
          "set how they are written ({}); if not, name the column in dataset.categorical or dataset.ignore.",
          training_.name(), in_quotes(name), found.shown(),
          setting_of(*found.notation, training_.format().numbers)));
    }
    if (found.texts > 0 && found.numbers >= 9 * found.texts) {
      throw IoError(
          log::format("{}:{}: column {} contains {} numbers and {}: {}. Correct them, or add them to "
                      "dataset.missing, or name the column in dataset.categorical or dataset.ignore.",
                      training_.name(), found.cells.front().line, in_quotes(name), found.numbers,
                      counted(static_cast<std::size_t>(found.texts), "other value"), found.shown()));
    }
    if (found.texts > 0) return ColumnRole::categorical;
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
  std::vector<std::optional<ColumnRole>> roles_;  // those that the recipe says
};

}  // namespace

std::vector<ColumnRole> column_roles(const TablePart& training, const ColumnChoice& choice) {
  return RoleFinder(training, choice).find();
}

}  // namespace runner
