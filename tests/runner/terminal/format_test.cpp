#include "runner/terminal/format.hpp"

#include <catch2/catch_all.hpp>

#include <cmath>

#include "runner/terminal/grid.hpp"
#include "runner/terminal/text.hpp"

namespace runner {
namespace {

TEST_CASE("numbers for people") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(11173962) == "11,173,962");
  CHECK(grouped(1, "step") == "1 step");
  CHECK(grouped(1000, "step") == "1,000 steps");
  CHECK(grouped(-1234567) == "-1,234,567");

  CHECK(measured(0.43124) == "0.4312");
  CHECK(measured(0.5) == "0.5000");
  CHECK(measured(1) == "1");
  CHECK(measured(2345.6) == "2,346");
  CHECK(measured(0.00012) == "0.00012");
  CHECK(measured(1.23456e-7) == "1.23e-07");
  CHECK(measured(3e12) == "3e+12");
  CHECK(measured(NAN) == "nan");
  CHECK(measured(-INFINITY) == "-inf");

  CHECK(epoch_text(3) == "3");
  CHECK(epoch_text(2.999) == "3");
  CHECK(epoch_text(0.126) == "0.13");
}

TEST_CASE("durations for people") {
  CHECK(duration_text(0.44) == "0.4s");
  CHECK(duration_text(9.96) == "10s");
  CHECK(duration_text(59.7) == "1m 00s");
  CHECK(duration_text(192) == "3m 12s");
  CHECK(duration_text(7500) == "2h 05m");
  CHECK(duration_text(273600) == "3d 04h");
  CHECK(duration_text(NAN) == "?");
  CHECK(duration_text(INFINITY) == "?");
}

TEST_CASE("shortening keeps characters whole") {
  CHECK(shortened("abcdef", 6, true) == "abcdef");
  CHECK(shortened("abcdef", 4, true) == "abc…");
  CHECK(shortened("abcdef", 4, false) == "a...");
  CHECK(shortened("ääääää", 3, true) == "ää…");
  CHECK(shortened("abcdef", 1, false) == ".");
  CHECK(shortened("abcdef", 0, true).empty());
  CHECK(shortened("形状形状", 8, true) == "形状形状");
  CHECK(shortened("形状形状", 6, true) == "形状…");  // one column is left: half a character does not fit
  CHECK(shortened("e\u0301e\u0301e\u0301", 2, true) == "e\u0301…");
}

TEST_CASE("a terminal gives wide characters two columns, and accents none") {
  CHECK(visible_width("abc") == 3);
  CHECK(visible_width("größe") == 5);
  CHECK(visible_width("形状") == 4);
  CHECK(visible_width("🚀") == 2);
  CHECK(visible_width("e\u0301") == 1);
  CHECK(visible_width("\033[1m形\033[0m") == 2);
  CHECK(visible_width("\xff\xfe") == 2);  // shown as something, one each
}

TEST_CASE("columns are aligned whatever the characters") {
  CHECK(grid({{"name"}, {"steps", true}}, {{"形状", "1"}, {"a", "12"}}, {}) ==
        "name  steps\n"
        "形状      1\n"
        "a        12\n");
}

}  // namespace
}  // namespace runner
