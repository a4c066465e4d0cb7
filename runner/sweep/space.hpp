#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner {

// The values that a sweep may give to a key, as written after the "=":
//   choice(0.1, 0.01)       one of these
//   range(0, 3)             0, 1, 2; range(0, 10, 5): 0, 5
//   uniform(0, 0.5)         any number between them
//   log_uniform(1e-5, 0.1)  the same, with a uniform logarithm
//   log_int(16, 1024)       the same for integers
// A value is stored as a number: the index of a choice, or the number itself.
struct Parameter {
  enum class Kind { choice, integer, uniform };

  std::string key;
  Kind kind = Kind::choice;
  std::vector<std::string> choices = {};  // as typed
  double low = 0, high = 0;               // both are possible values
  double step = 1;                        // of integers
  bool log = false;

  bool countable() const { return kind != Kind::uniform && !log; }  // whether a grid may try all values
  std::size_t count() const;                                        // number of values, if countable
  double value(std::size_t index) const;                            // value number `index`, if countable
  double half_step() const;  // values this close to an integer are rounded to it; 0 if not an integer
  double rounded(double value) const;    // to a possible value; non-integers to six digits, for readability
  std::string text(double value) const;  // as in an override
  // Values to check against the recipe before a sweep: every choice; or both ends and, unless all values are
  // integers, a number between them that is not an integer.
  std::vector<double> extremes() const;
};

using Point = std::vector<double>;  // a value of each parameter

// Whether an argument is meant as a parameter and not as an ordinary override; it may still have errors.
bool is_parameter(std::string_view argument);
// Throws std::invalid_argument that says what is wrong.
Parameter parse_parameter(std::string_view argument);

}  // namespace runner
