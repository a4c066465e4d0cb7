#include "components/datasets/columns/learn_columns.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "components/datasets/columns/column_roles.hpp"
#include "components/datasets/read/number.hpp"
#include "registry/base/ascii.hpp"
#include "registry/base/log.hpp"
#include "registry/base/number_text.hpp"
#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

constexpr const char* trim_remedy =
    "It removes each of these characters from the end: name only characters in which no class ends";

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

struct Learner {
  const TablePart& training;
  const ColumnChoice& choice;
  std::size_t most_bytes;
  std::vector<ColumnRole> roles = column_roles(training, choice);

  bool missing(const RowReader& row, std::size_t column) const {
    const std::string_view value = row.values()[column];
    return roles[column] == ColumnRole::numeric ? training.format().is_missing_number(value)
                                                : training.format().is_missing(value);
  }

  using Written = std::map<std::string, std::string, std::less<>>;  // a class, as the file writes it

  // Letters and digits tell classes apart, so that removing them must not make one class of two.
  std::string_view class_of(const RowReader& row, std::size_t column, Written& written) const {
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

  // How often a text means a missing value, in each column.
  using Marks = std::map<std::string, std::map<std::size_t, std::int64_t>>;

  void say(const Marks& marks) const {
    std::vector<std::string> all;
    for (const auto& [mark, places] : marks) {
      std::vector<std::string> counts;
      for (const auto& [column, count] : places)
        counts.push_back(escaped_name(training.columns()[column]) + " " + std::to_string(count));
      all.push_back(in_quotes(mark) + " (" + listed(counts) + ")");
    }
    if (!all.empty()) log::info("{}: taken as missing: {}.", training.name(), joined(all));
  }

  TableColumns learn() const {
    std::vector<Distribution> numbers(roles.size());
    std::vector<Distinct> values(roles.size());
    Written written;
    Marks marks;
    const auto note = [&](std::size_t column, std::string_view value) {
      if (!values[column].contains(value)) values[column].emplace(value);
    };
    training.each([&](const RowReader& row) {
      for (std::size_t i = 0; i < roles.size(); ++i) {
        if (roles[i] == ColumnRole::ignored) continue;
        if (missing(row, i)) {
          if (!row.values()[i].empty()) ++marks[std::string(row.values()[i])][i];
          continue;
        }
        if (roles[i] == ColumnRole::numeric) numbers[i].add(finite_number(row, i, training.format().numbers));
        if (roles[i] == ColumnRole::categorical) note(i, row.values()[i]);
        if (roles[i] == ColumnRole::target && !choice.regression) note(i, class_of(row, i, written));
        if (roles[i] == ColumnRole::target && choice.regression)
          numbers[i].add(finite_number(row, i, training.format().numbers, NumberUse::target));
      }
    });
    require_few_enough(values);
    say(marks);
    TableColumns columns{
        .file = training.columns(), .target = choice.target, .separator = training.format().csv.separator};
    for (std::size_t i = 0; i < roles.size(); ++i) {
      const std::string& name = training.columns()[i];
      if (roles[i] == ColumnRole::numeric) columns.numeric.push_back(numeric(name, numbers[i]));
      if (roles[i] == ColumnRole::categorical) columns.categorical.push_back(categorical(name, values[i]));
      if (roles[i] == ColumnRole::target && !choice.regression) columns.classes = classes(values[i]);
      if (roles[i] == ColumnRole::target && choice.regression) require_different_values(numbers[i]);
      if (roles[i] == ColumnRole::target && choice.regression && choice.standardize_target) {
        columns.target_mean = numbers[i].mean;
        columns.target_deviation = numbers[i].deviation();
      }
    }
    if (columns.numeric.empty() && columns.categorical.empty())
      throw IoError(training.name() + " has no column to learn from except the target.");
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

  [[noreturn]] void nothing_to_learn() const {
    throw IoError(training.name() + ": the target " + in_quotes(choice.target) +
                  " is the same in all training rows: there is nothing to learn.");
  }

  void require_different_values(const Distribution& target) const {
    if (target.count > 1 && target.squares == 0) nothing_to_learn();
  }

  // "Yes" and "yes", "1" and "1.0": usually one class that was written in two ways.
  void look_for_classes_written_twice(const Distinct& found) const {
    std::map<std::string, std::string> written;
    for (const std::string& name : found) {
      const auto number = parse_number(name);
      const auto [other, is_new] = written.emplace(number ? number_text(*number) : ascii_lower(name), name);
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
    if (count < 2) nothing_to_learn();
    if (numbers && count > 50 && 2 * count > training.size()) {
      throw IoError(training.name() + ": nearly every row has a different number as its target " +
                    in_quotes(choice.target) +
                    ". To predict numbers rather than classes, set dataset.task = \"regression\".");
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

std::string_view class_in(const RowReader& row, std::size_t column, std::string_view trimmed) {
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

constexpr const char* title_remedy =
    " If its first line is a title, and the names of the columns come after it, set dataset.skip_lines = 1.";
constexpr const char* header_remedy =
    " If the first line does not name the columns, set dataset.columns; dataset.skip_lines = 1 skips a line "
    "that is not part of the table.";

}  // namespace

std::size_t find_column(const std::vector<std::string>& columns, const std::string& wanted,
                        const std::string& file) {
  const auto found = std::ranges::find(columns, wanted);
  if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  const auto hint = did_you_mean(wanted, columns);
  throw IoError(file + " has no column " + in_quotes(wanted) + (hint ? "; " + *hint : ".") +
                " It has: " + listed(columns) + "." +
                (names_are_values(columns) ? header_remedy
                 : columns.size() == 1     ? title_remedy
                                           : ""));
}

TableColumns learn_columns(const TablePart& training, const ColumnChoice& choice, std::size_t most_bytes) {
  return Learner{training, choice, most_bytes}.learn();
}

}  // namespace runner
