#include "runner/cli/options/output_width.hpp"

#include <unistd.h>

#include <iostream>
#include <limits>

#include "runner/terminal/console.hpp"

namespace runner::cli {

std::size_t output_width(const Session& session) {
  const bool terminal = &session.out == &std::cout && ::isatty(STDOUT_FILENO) == 1;
  return terminal ? static_cast<std::size_t>(ConsoleOutput::standard_output().width())
                  : std::numeric_limits<std::size_t>::max();
}

}  // namespace runner::cli
