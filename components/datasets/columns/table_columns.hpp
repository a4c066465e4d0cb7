#pragma once

#include <string>
#include <vector>

namespace runner {

struct NumericColumn {
  std::string name;
  double mean = 0, deviation = 1;  // subtracted, then divided by; for standardisation
  double fill = 0;                 // replaces missing values
  bool indicator = false;          // an additional input: whether the value was missing
};

struct CategoricalColumn {
  std::string name;
  std::vector<std::string> values = {};  // sorted; ids begin at 1, and 0 is an unknown or missing value
};

// How to convert the rows of a table to numbers, learnt from the training set.
struct TableColumns {
  std::vector<std::string> file = {};  // all columns of the training file, in order
  std::vector<NumericColumn> numeric = {};
  std::vector<CategoricalColumn> categorical = {};
  std::string target = {};
  std::vector<std::string> classes = {};         // of the target; empty: regression
  double target_mean = 0, target_deviation = 1;  // to standardise the target of a regression
  char separator = ',';

  std::string json() const;
  static TableColumns from_json(const std::string& text);  // throws IoError
};

}  // namespace runner
