#pragma once

#include <optional>
#include <string_view>

#include "runner/cli/command.hpp"

namespace runner::cli {

// Something a person typed that is no such number.
struct BadNumber {
  std::string message;
};

// The value of --NAME; nothing where it was not given. Throws BadNumber below the least or above the most.
std::optional<double> number_option(const Arguments& arguments, std::string_view name, double least,
                                    double most);
std::optional<std::int64_t> whole_option(const Arguments& arguments, std::string_view name,
                                         std::int64_t least);

}  // namespace runner::cli
