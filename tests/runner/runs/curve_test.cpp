#include "runner/runs/curve.hpp"

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cmath>

namespace runner {
namespace {

TEST_CASE("a short curve keeps every point", "[runs]") {
  Curve curve;
  for (int i = 0; i < 100; ++i) curve.add(i, i * i);
  REQUIRE(curve.points().size() == 100);
  CHECK(curve.points()[7].y == 49);
}

TEST_CASE("a million points become few, and both extremes and both ends stay", "[runs]") {
  Curve curve(1000);
  for (int i = 0; i < 1'000'000; ++i)
    curve.add(i, std::sin(i * 1e-4) + (i == 123'457 ? 50 : 0) - (i == 765'432 ? 70 : 0));
  curve.thin(300);
  const auto& points = curve.points();
  CHECK(curve.added() == 1'000'000);
  CHECK(points.size() <= 302);
  CHECK(points.front().x == 0);
  CHECK(points.back().x == 999'999);
  const auto [low, high] = std::ranges::minmax_element(points, {}, &CurvePoint::y);
  CHECK(high->x == 123'457);
  CHECK(low->x == 765'432);
  CHECK(std::ranges::is_sorted(points, std::less_equal{}, &CurvePoint::x));
}

TEST_CASE("what is not a number survives thinning", "[runs]") {
  Curve curve;
  for (int i = 0; i < 10'000; ++i) curve.add(i, i == 5'000 ? NAN : 1.0);
  curve.thin(50);
  CHECK(std::ranges::any_of(curve.points(),
                            [](const CurvePoint& p) { return std::isnan(p.y) && p.x == 5'000; }));
}

TEST_CASE("a resumed run measures again what came after its checkpoint", "[runs]") {
  Curve curve;
  for (int i = 1; i <= 10; ++i) curve.add(i, 1);
  curve.add(6, 2);
  REQUIRE(curve.points().size() == 6);
  CHECK(curve.points().back().x == 6);
  CHECK(curve.points().back().y == 2);
}

}  // namespace
}  // namespace runner
