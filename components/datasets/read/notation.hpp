#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "components/datasets/read/number.hpp"

namespace runner {

// The unit after a number that is not a usual one, such as "g" of "5.2 g"; empty if there is none.
std::string_view unit_after(std::string_view text);

// How the numbers of a column may be written, found from all of its values: "2,900" alone may be 2.9, but
// beside "1,234,567" or "0.81" it is 2900.
class ColumnNotation {
 public:
  void add(std::string_view written);  // a value that is not missing

  std::int64_t values() const { return values_; }
  bool numeric() const;             // one notation reads every value
  bool nearly_numeric() const;      // one notation reads nine of ten
  bool in_different_units() const;  // all are numbers, but with units such as "g" and "kg"
  const std::vector<std::string>& units() const { return units_; }
  NumberFormat format() const;  // the one that reads most values

 private:
  friend class TableNotation;
  static constexpr std::size_t candidates = 7;

  std::int64_t most_read() const;

  std::int64_t values_ = 0;
  std::array<std::int64_t, candidates> read_{};        // how many values each candidate reads
  std::vector<std::string> units_ = {};                // usual ones, or one that stands after the numbers
  std::int64_t with_other_unit_ = 0;                   // "5.2 g"
  std::set<std::string, std::less<>> different_ = {};  // the first few values
  bool fractions_ = false;                             // of numbers with such units
  // What tells "2,900" from 2.9; for commas and points.
  struct Groups {
    std::int64_t of_three = 0;  // values such as "2,900"
    bool round = false;         // one ends in 0
    std::string example = {};
  };
  std::array<Groups, 2> groups_{};
  std::int64_t small_ = 0, large_ = 0;  // whole numbers without any mark: below 1000, and others
};

// How all numeric columns of a table write their numbers: tables have one notation.
class TableNotation {
 public:
  TableNotation(const std::vector<const ColumnNotation*>& columns, char separator);

  const NumberFormat& format() const { return format_; }
  // A value with another meaning in another notation, such as "2,900"; empty: there is none.
  const std::string& example() const { return example_; }
  bool sure() const { return sure_; }

 private:
  NumberFormat format_ = {};
  std::string example_ = {};
  bool sure_ = true;
};

// The settings of `csv` to change to get from one format to the other, in TOML.
std::string notation_settings(const NumberFormat& format, const NumberFormat& current);

}  // namespace runner
