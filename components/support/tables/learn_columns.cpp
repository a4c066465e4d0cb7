#include "components/support/tables/learn_columns.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "components/support/io/io_error.hpp"
#include "components/support/tables/number.hpp"
#include "registry/log.hpp"
#include "registry/number_text.hpp"
#include "registry/suggest.hpp"
#include "registry/wording.hpp"

namespace runner {

namespace {

constexpr const char* trim_remedy =
    "It removes each of these characters from the end: name only characters in which no class ends";

enum class Role { unknown, numeric, categorical, target, ignored };

struct Distribution {
  std::int64_t count = 0;
  double mean = 0, squares = 0;  // of the differences from the mean (Welford)

  void add(double value) {
    const double difference = value - mean;
    mean += difference / static_cast<double>(++count);
    squares += difference * (value - mean);
  }
  // As scikit-learn's StandardScaler: the population deviation, and 1 if all values are the same.
  double deviation() const {
    const double found = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
    return found > 1e-12 * std::abs(mean) ? found : 1;
  }
};

using Distinct = std::set<std::string, std::less<>>;

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
    std::string list;
    for (const Cell& cell : cells)
      list += (list.empty() ? "" : ", ") + in_quotes(cell.text) + " in line " + std::to_string(cell.line);
    return list + (texts > std::ssize(cells) ? " .." : "");
  }
};

std::string setting_of(const NumberFormat& format) {
  std::string text;
  const auto add = [&](const std::string& setting) {
    text += (text.empty() ? "dataset." : ", dataset.") + setting;
  };
  if (format.decimal != '.') add("decimal = \",\"");
  if (format.thousands) add(std::string("thousands = \"") + format.thousands + "\"");
  for (const std::string& unit : format.units) add("units = [" + in_quotes(unit) + "]");
  return text;
}

struct Learner {
  const TablePart& training;
  const ColumnChoice& choice;
  std::size_t most_bytes;
  std::vector<Role> roles = std::vector<Role>(training.columns().size(), Role::unknown);

  bool missing(const CsvReader& row, std::size_t column) const {
    return training.format().is_missing(row.values()[column]);
  }

  void assign(const std::vector<std::string>& names, Role role) {
    for (const std::string& name : names)
      roles[find_column(training.columns(), name, training.name())] = role;
  }

  std::vector<Contents> look() const {
    std::vector<Contents> contents(roles.size());
    training.each([&](const CsvReader& row) {
      for (std::size_t i = 0; i < roles.size(); ++i) {
        if (roles[i] != Role::unknown || missing(row, i)) continue;
        Contents& found = contents[i];
        if (const auto number = parse_number(row.values()[i], training.format().numbers)) {
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
  void decide(std::size_t column, const Contents& found) {
    const std::string& name = training.columns()[column];
    if (found.numbers + found.texts == 0) {
      log::warning("{}: column {} is ignored: it has no value in the training set.", training.name(),
                   in_quotes(name));
      roles[column] = Role::ignored;
    } else if (found.otherwise > 0 &&
               found.numbers + found.otherwise >= 9 * (found.texts - found.otherwise)) {
      throw IoError(log::format(
          "{}: column {} looks numeric, but is not in the expected number format: {}. If these are numbers, "
          "set how they are written ({}); if not, name the column in dataset.categorical or dataset.ignore.",
          training.name(), in_quotes(name), found.shown(), setting_of(*found.notation)));
    } else if (found.texts > 0 && found.numbers >= 9 * found.texts) {
      throw IoError(log::format(
          "{}:{}: column {} contains {} numbers and {} other {}: {}. Correct them, or add them to "
          "dataset.missing, or name the column in dataset.categorical or dataset.ignore.",
          training.name(), found.cells.front().line, in_quotes(name), found.numbers, found.texts,
          found.texts == 1 ? "value" : "values", found.shown()));
    } else {
      roles[column] = found.texts == 0 ? Role::numeric : Role::categorical;
      if (roles[column] == Role::numeric) look_for_row_numbers(name, found);
    }
  }

  // In a file that is sorted by class, the row number reveals the class.
  void look_for_row_numbers(const std::string& name, const Contents& found) const {
    constexpr std::int64_t too_few_to_tell = 10;
    if (found.numbers < std::max(training.size(), too_few_to_tell) ||
        !found.counting.counts_rows(training.rows_in_file()))
      return;
    log::warning(
        "{}: column {} counts the rows, and the model learns from it. If these are only row numbers, name "
        "the column in dataset.ignore; if not, in dataset.numeric.",
        training.name(), in_quotes(name));
  }

  void assign_roles() {
    assign({choice.target}, Role::target);
    assign(choice.numeric, Role::numeric);
    assign(choice.categorical, Role::categorical);
    assign(choice.ignore, Role::ignored);
    if (std::ranges::find(roles, Role::unknown) == roles.end()) return;
    const std::vector<Contents> contents = look();
    for (std::size_t i = 0; i < roles.size(); ++i) {
      if (roles[i] == Role::unknown) decide(i, contents[i]);
    }
  }

  using Written = std::map<std::string, std::string, std::less<>>;  // a class, as the file writes it

  // Letters and digits tell classes apart, so that removing them must not make one class of two.
  std::string_view class_of(const CsvReader& row, std::size_t column, Written& written) const {
    const std::string_view name = class_in(row, column, choice.trim_target);
    if (!has_letters_or_digits(choice.trim_target)) return name;
    const std::string_view value = row.values()[column];
    auto known = written.find(name);
    if (known == written.end()) known = written.emplace(name, value).first;
    if (known->second != value) {
      row.fail(column, log::format("dataset.trim_target = {} makes one class of {} and {}. {}",
                                   in_quotes(choice.trim_target), in_quotes(known->second), in_quotes(value),
                                   trim_remedy));
    }
    return name;
  }

  TableColumns learn() const {
    std::vector<Distribution> numbers(roles.size());
    std::vector<Distinct> values(roles.size());
    Written written;
    const auto note = [&](std::size_t column, std::string_view value) {
      if (!values[column].contains(value)) values[column].emplace(value);
    };
    training.each([&](const CsvReader& row) {
      for (std::size_t i = 0; i < roles.size(); ++i) {
        if (roles[i] == Role::ignored || missing(row, i)) continue;
        if (roles[i] == Role::numeric) numbers[i].add(finite_number(row, i, training.format().numbers));
        if (roles[i] == Role::categorical) note(i, row.values()[i]);
        if (roles[i] == Role::target && !choice.regression) note(i, class_of(row, i, written));
        if (roles[i] == Role::target && choice.regression)
          numbers[i].add(finite_number(row, i, training.format().numbers));
      }
    });
    require_few_enough(values);
    TableColumns columns{
        .file = training.columns(), .target = choice.target, .separator = training.format().csv.separator};
    for (std::size_t i = 0; i < roles.size(); ++i) {
      const std::string& name = training.columns()[i];
      if (roles[i] == Role::numeric) columns.numeric.push_back(numeric(name, numbers[i]));
      if (roles[i] == Role::categorical) columns.categorical.push_back(categorical(name, values[i]));
      if (roles[i] == Role::target && !choice.regression) columns.classes = classes(values[i]);
      if (roles[i] == Role::target && choice.regression && choice.standardize_target) {
        columns.target_mean = numbers[i].mean;
        columns.target_deviation = numbers[i].deviation();
      }
    }
    if (columns.numeric.empty() && columns.categorical.empty())
      throw IoError(training.name() + " has no column to learn from besides the target.");
    return columns;
  }

  // More than each value takes as JSON, and so much that there are also fewer values than `most_json_values`.
  static constexpr std::size_t bytes_beside_text = 50;
  static_assert(largest_json / bytes_beside_text < most_json_values);

  void require_few_enough(const std::vector<Distinct>& values) const {
    std::size_t all = 0;
    for (const Distinct& column : values)
      for (const std::string& value : column) all += value.size() + bytes_beside_text;
    if (all <= most_bytes) return;
    const auto most = std::ranges::max_element(values, {}, [](const Distinct& one) { return one.size(); });
    throw IoError(log::format(
        "{}: column {} has {} different values, more than can be saved with a model. Group them, or name the "
        "column in dataset.ignore.",
        training.name(), in_quotes(training.columns()[static_cast<std::size_t>(most - values.begin())]),
        most->size()));
  }

  NumericColumn numeric(const std::string& name, const Distribution& found) const {
    if (found.count == 0) {
      throw IoError(training.name() + ": column " + in_quotes(name) +
                    " has no value in the training set: remove it from dataset.numeric.");
    }
    const bool gaps = found.count < training.size();
    return {name, choice.standardize ? found.mean : 0, choice.standardize ? found.deviation() : 1, found.mean,
            choice.indicators && gaps};
  }

  CategoricalColumn categorical(const std::string& name, const Distinct& found) const {
    const bool asked_for = std::ranges::find(choice.categorical, name) != choice.categorical.end();
    if (!asked_for && found.size() >= 100 && 2 * static_cast<std::int64_t>(found.size()) > training.size()) {
      log::warning(
          "{}: column {} has {} different values, more than half as many as rows. If nothing can be "
          "learnt from it, name it in dataset.ignore.",
          training.name(), in_quotes(name), found.size());
    }
    return {name, {found.begin(), found.end()}};
  }

  // "Yes" and "yes", "1" and "1.0": usually one class that was written in two ways.
  void look_for_classes_written_twice(const Distinct& found) const {
    std::map<std::string, std::string> written;
    for (const std::string& name : found) {
      std::string meant = name;
      if (const auto number = parse_number(name)) {
        meant = number_text(*number);
      }
      std::ranges::transform(meant, meant.begin(), [](unsigned char letter) { return std::tolower(letter); });
      const auto [other, is_new] = written.emplace(meant, name);
      if (is_new) continue;
      log::warning("{}: the target {} has the classes {} and {}, which may be the same.", training.name(),
                   in_quotes(choice.target), in_quotes(other->second), in_quotes(name));
    }
  }

  std::vector<std::string> classes(const Distinct& found) const {
    look_for_classes_written_twice(found);
    std::vector<std::string> names(found.begin(), found.end());
    const auto number = [](const std::string& name) { return *parse_number(name); };
    const bool numbers =
        std::ranges::all_of(names, [](const auto& name) { return parse_number(name).has_value(); });
    if (numbers) std::ranges::stable_sort(names, {}, number);
    const auto count = static_cast<std::int64_t>(names.size());
    if (count == 0) {
      throw IoError(
          training.name() + ": the target column " + in_quotes(choice.target) +
          " has no value in the training set. Fill it in, or set dataset.target to another column.");
    }
    if (count < 2) {
      throw IoError(training.name() + ": the target " + in_quotes(choice.target) +
                    " is the same in all training rows: there is nothing to learn.");
    }
    if (numbers && count > 50 && 2 * count > training.size()) {
      throw IoError(training.name() + ": nearly every row has a different number as its target " +
                    in_quotes(choice.target) +
                    ". To predict numbers rather than classes, say dataset.task = \"regression\".");
    }
    return names;
  }
};

}  // namespace

std::string_view without_ending(std::string_view value, std::string_view letters) {
  return letters.empty() ? value : value.substr(0, value.find_last_not_of(letters) + 1);
}

bool has_letters_or_digits(std::string_view text) {
  return std::ranges::any_of(
      text, [](unsigned char letter) { return letter >= 0x80 || std::isalnum(letter) != 0; });
}

std::string_view class_in(const CsvReader& row, std::size_t column, std::string_view trimmed) {
  const std::string_view value = row.values()[column], name = without_ending(value, trimmed);
  if (name.size() == value.size()) return name;
  const auto before = parse_number(value), after = parse_number(name);
  if (name.empty() || (before && after && *before != *after)) {
    row.fail(column, log::format("dataset.trim_target = {} leaves {} of the class {}. {}", in_quotes(trimmed),
                                 name.empty() ? "nothing" : in_quotes(name), in_quotes(value), trim_remedy));
  }
  return name;
}

namespace {

// If there are numbers in the first line, it is a row, or it describes the table.
bool names_are_values(const std::vector<std::string>& columns) {
  return std::ranges::any_of(columns, [](const std::string& name) { return parse_number(name).has_value(); });
}

constexpr const char* header_remedy =
    " If the first line does not name the columns, dataset.columns does; dataset.skip_lines = 1 skips a line "
    "that is not part of the table.";

}  // namespace

std::size_t find_column(const std::vector<std::string>& columns, const std::string& wanted,
                        const std::string& file) {
  const auto found = std::ranges::find(columns, wanted);
  if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  const auto hint = did_you_mean(wanted, columns);
  throw IoError(file + " has no column " + in_quotes(wanted) + (hint ? "; " + *hint : ".") +
                " It has: " + listed(columns) + "." + (names_are_values(columns) ? header_remedy : ""));
}

TableColumns learn_columns(const TablePart& training, const ColumnChoice& choice, std::size_t most_bytes) {
  Learner learner{training, choice, most_bytes};
  learner.assign_roles();
  return learner.learn();
}

}  // namespace runner
