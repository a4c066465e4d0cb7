#include "registry/base/meant_number.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

TEST_CASE("numbers in other notations are recognised", "[wording]") {
  CHECK(meant_number(".5") == "0.5");
  CHECK(meant_number("-.5e-3") == "-0.5e-3");
  CHECK(meant_number("+5.") == "5.0");
  CHECK(meant_number("1.e3") == "1.0e3");
  CHECK(meant_number("0,5") == "0.5");
  CHECK(meant_number("0.5") == "0.5");
  for (const char* text : {"", ".", "-", "e5", "1,2,3", "1.2.3", "fast", "5ep", "1 2", "--5"})
    CHECK_FALSE(meant_number(text));
}
