#pragma once

#include <exception>
#include <string>

namespace runner {

// What went wrong, in one line: without the location in LibTorch's own sources and without the code that the
// TorchScript interpreter prints before the reason.
std::string reason_of(const std::exception& error);

}  // namespace runner
