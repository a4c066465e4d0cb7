#pragma once

#include <exception>
#include <string>

namespace runner {

// What went wrong, in one line: LibTorch appends where in its own sources it happened, and the interpreter of
// TorchScript puts a page of code before it.
std::string reason_of(const std::exception& error);

}  // namespace runner
