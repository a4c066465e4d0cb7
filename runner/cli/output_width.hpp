#pragma once

#include <cstddef>

#include "runner/cli/command.hpp"

namespace runner::cli {

// Columns that fit into a line of the output; where it is no terminal, as many as there are.
std::size_t output_width(const Session& session);

}  // namespace runner::cli
