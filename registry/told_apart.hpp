#pragma once

#include <string>
#include <utility>

#include "registry/byte_size.hpp"

namespace runner {

// Two different sizes for one sentence: "43.7 MB" and "1.1 MB", or all digits where rounding would make them
// look the same.
std::pair<std::string, std::string> told_apart(const ByteSize& one, const ByteSize& other);

}  // namespace runner
