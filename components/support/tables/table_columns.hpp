#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner {

struct NumericColumn {
  std::string name;
  double mean = 0, deviation = 1;  // what is taken off, then divided by
  double fill = 0;                 // replaces missing values
  bool indicator = false;          // a further input says whether it was
};

struct CategoricalColumn {
  std::string name;
  std::vector<std::string> values = {};  // sorted; the id of the first is 1, and 0 is any other or none
};

// What is needed to read rows of a table, learnt from the training set.
struct TableColumns {
  std::vector<std::string> file = {};  // all columns of the training file, in order
  std::vector<NumericColumn> numeric = {};
  std::vector<CategoricalColumn> categorical = {};
  std::string target = {};
  std::vector<std::string> classes = {};         // of the target; none: it is a number,
  double target_mean = 0, target_deviation = 1;  // from which this is taken off, and which is divided by this
  char separator = ',';

  std::string json() const;
  static TableColumns from_json(const std::string& text);  // throws IoError
};

}  // namespace runner
