#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner {

// What a key may become in a sweep, as it is written after the "=":
//   choice(0.1, 0.01)       one of these
//   range(0, 3)             0, 1, 2; range(0, 10, 5): 0, 5
//   uniform(0, 0.5)         any number between the two
//   log_uniform(1e-5, 0.1)  the same with equal chances for every decade
//   log_int(16, 1024)       the same for integers
// A value is held as a number: the place among the choices, or the number itself.
struct Parameter {
  enum class Kind { choice, integer, uniform };

  std::string key;
  Kind kind = Kind::choice;
  std::vector<std::string> choices = {};  // as typed
  double low = 0, high = 0;               // both can come up
  double step = 1;                        // of integers
  bool log = false;

  bool countable() const { return kind != Kind::uniform && !log; }  // whether a grid may try all values
  std::size_t count() const;                                        // of values, where they are countable
  double value(std::size_t index) const;                            // the same
  double half_step() const;  // values this close to an integer are rounded to it; 0 if not an integer
  double rounded(
      double value) const;  // to a value that can come up; numbers to six digits, for people to read
  std::string text(double value) const;  // as an override has it
  // Values that show whether the recipe takes all of them: every choice, or both ends, and one between them
  // that is no whole number where such can come up.
  std::vector<double> extremes() const;
};

using Point = std::vector<double>;  // a value for each parameter

// Whether an argument is one of these and not an ordinary override; it may still be wrong.
bool is_parameter(std::string_view argument);
// Throws std::invalid_argument that says what is wrong.
Parameter parse_parameter(std::string_view argument);

}  // namespace runner
