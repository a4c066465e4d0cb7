#pragma once

#include <cstddef>

#include "runner/cli/command.hpp"

namespace runner::cli {

// Columns that fit into a line of the output; unlimited if it is not a terminal.
std::size_t output_width(const Session& session);

}  // namespace runner::cli
