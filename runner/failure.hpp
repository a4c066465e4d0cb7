#pragma once

#include <exception>
#include <string>

namespace runner {

// The message for an error that ended the work: what is wrong and, if known, what helps. Never a backtrace,
// never a bare std::bad_alloc.
std::string failure_text(const std::exception& error);

// The same where the exception that is being handled is not a std::exception: all that is known is its type.
std::string unknown_failure_text();

}  // namespace runner
