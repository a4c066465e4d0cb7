#include "registry/base/number_text.hpp"

#include <catch2/catch_all.hpp>

#include <limits>

namespace runner {

TEST_CASE("a number as text reads back as the same number, with as few characters as possible") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(0.1f) == "0.1");
  CHECK(number_text(1e5) == "1e+05");
  CHECK(number_text(std::numeric_limits<double>::infinity()) == "inf");
}

TEST_CASE("a number as people write it has an exponent only if it would be very long without") {
  CHECK(plain_number_text(0) == "0");
  CHECK(plain_number_text(100000) == "100000");
  CHECK(plain_number_text(-0.25) == "-0.25");
  CHECK(plain_number_text(0.00001) == "0.00001");
  CHECK(plain_number_text(1e-30) == "1e-30");
  CHECK(plain_number_text(9007199254740991) == "9007199254740991");
  CHECK(plain_number_text(1e30) == "1e+30");
}

}  // namespace runner
