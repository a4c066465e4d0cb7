#include "runner/terminal/plot.hpp"

#include <catch2/catch_all.hpp>

#include <cmath>
#include <sstream>
#include <vector>

#include "runner/terminal/text.hpp"

namespace runner {
namespace {

using Points = std::vector<std::pair<double, double>>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("a falling line falls, from the highest to the lowest label") {
  const Points points{{0, 4}, {10, 1}};
  CHECK(plot(points, {21, 4, false, "steps"}) ==
        "        4 +**\n"
        "          |  ***\n"
        "          |     ***\n"
        "        1 +        **\n"
        "          +----------\n"
        "           0 10 steps\n");
  CHECK(plot(points, {21, 2, true, ""}) ==
        "        4 ┤⠉⠒⠢⢄⣀\n"
        "        1 ┤     ⠉⠑⠢⠤⣀\n"
        "          └──────────\n"
        "           0       10\n");
}

TEST_CASE("a curve keeps to its width and height, whatever the number of points") {
  for (const int count : {2, 3, 50, 10000}) {
    Points points;
    for (int i = 0; i < count; ++i) points.emplace_back(i, std::sin(i) + 100.0 / (i + 1));
    for (const int width : {22, 72, 120}) {
      const auto lines = lines_of(plot(points, {width, 6, true, "steps"}));
      REQUIRE(lines.size() == 8);
      for (const std::string& line : lines) CHECK(visible_width(line) <= static_cast<std::size_t>(width));
    }
  }
}

TEST_CASE("where many points share a column their mean is drawn") {
  Points points;
  for (int i = 0; i < 10000; ++i) points.emplace_back(i, i % 2 == 0 ? 1.0 : 3.0);
  const std::string text = plot(points, {72, 5, false, ""});
  CHECK(text.find("2") != std::string::npos);    // the mean is the label ..
  CHECK(text.find(" 3 ") == std::string::npos);  // .. and neither extreme
}

TEST_CASE("a constant is a line in the middle with one label") {
  const auto lines = lines_of(plot(Points{{0, 0.25}, {100, 0.25}}, {30, 5, false, ""}));
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "          |");
  CHECK(lines[2] == "   0.2500 +*******************");
  CHECK(lines[4] == "          |");
}

TEST_CASE("what cannot be drawn is left out; of nothing there is no plot") {
  CHECK(plot({}, {}).empty());
  CHECK(plot(Points{{1, 1}}, {}).empty());
  CHECK(plot(Points{{1, 1}, {1, 2}}, {}).empty());
  CHECK(plot(Points{{1, NAN}, {2, INFINITY}, {3, 1}}, {}).empty());
  CHECK(plot(Points{{0, 4}, {5, NAN}, {10, 1}}, {30, 4, false, ""}) ==
        plot(Points{{0, 4}, {10, 1}}, {30, 4, false, ""}));
}

}  // namespace
}  // namespace runner
