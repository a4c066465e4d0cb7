#pragma once

#include <exception>
#include <string>

namespace runner {

// The message for an error that ended the work: what is wrong and, if known, what helps. Never a backtrace,
// never a bare std::bad_alloc.
std::string failure_text(const std::exception& error);

// The same for a current exception that is not a std::exception: only its type is known.
std::string unknown_failure_text();

}  // namespace runner
