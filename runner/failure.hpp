#pragma once

#include <exception>
#include <string>

namespace runner {

// What a person is told of an error that ended the work: what is wrong, and what helps where that is known.
// Never a backtrace, never a bare std::bad_alloc.
std::string failure_text(const std::exception& error);

// The same where the exception that is being handled is not a std::exception: all that is known is its type.
std::string unknown_failure_text();

}  // namespace runner
