#pragma once

#include <optional>
#include <string_view>

#include "runner/cli/command.hpp"

namespace runner::cli {

// The value of an option is not a number, or it is out of range.
struct BadNumber {
  std::string message;
};

// The value of --NAME; empty if it was not given. Throws BadNumber if it is not a number from `least` to
// `most`.
std::optional<double> number_option(const Arguments& arguments, std::string_view name, double least,
                                    double most);
std::optional<std::int64_t> whole_option(const Arguments& arguments, std::string_view name,
                                         std::int64_t least);

}  // namespace runner::cli
