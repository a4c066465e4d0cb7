// Catch2 3 spelled on top of Debian 12's Catch2 2.13: what the tests use and the old version lacks.
#pragma once

#include <catch2/catch.hpp>

#include <string>

namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& part,
                              CaseSensitive::Choice sensitivity = CaseSensitive::Yes) {
  return Contains(part, sensitivity);
}
}  // namespace Catch::Matchers

// Ends the case, says why, and counts as neither passed nor failed: what version 2 does with this exception.
#define SKIP(...)                        \
  do {                                   \
    WARN("SKIPPED: " << __VA_ARGS__);    \
    SUCCEED();                           \
    throw Catch::TestFailureException{}; \
  } while (false)
