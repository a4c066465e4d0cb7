#include "runner/runs/curve.hpp"

#include <algorithm>
#include <cmath>

namespace runner {

namespace {

// Keeps the lowest and the highest point of a stretch, and the first that is not finite.
void keep_extremes(const CurvePoint* begin, const CurvePoint* end, std::vector<CurvePoint>& kept) {
  const CurvePoint *low = nullptr, *high = nullptr, *odd = nullptr;
  for (const CurvePoint* point = begin; point != end; ++point) {
    if (!std::isfinite(point->y)) {
      if (!odd) odd = point;
      continue;
    }
    if (!low || point->y < low->y) low = point;
    if (!high || point->y > high->y) high = point;
  }
  const CurvePoint* chosen[] = {low, high, odd};
  std::ranges::sort(chosen);
  const CurvePoint* before = nullptr;
  for (const CurvePoint* point : chosen) {
    if (point && point != before) kept.push_back(*point);
    before = point;
  }
}

}  // namespace

void Curve::add(double x, double y) {
  while (!points_.empty() && x <= points_.back().x) points_.pop_back();
  points_.push_back({x, y});
  ++added_;
  if (points_.size() > 2 * most_) thin(most_);
}

void Curve::thin(std::size_t most) {
  if (points_.size() <= std::max<std::size_t>(most, 4)) return;
  const std::size_t stretches = std::max<std::size_t>(most, 4) / 2 - 1;
  const double first = points_.front().x;
  const double width = (points_.back().x - first) / static_cast<double>(stretches);
  std::vector<CurvePoint> kept{points_.front()};
  const CurvePoint* begin = points_.data() + 1;
  const CurvePoint* const last = points_.data() + points_.size() - 1;
  for (std::size_t i = 1; begin != last; ++i) {
    const double limit = first + width * static_cast<double>(i);
    const CurvePoint* end =
        i >= stretches ? last : std::find_if(begin, last, [&](const CurvePoint& p) { return p.x >= limit; });
    keep_extremes(begin, end, kept);
    begin = end;
  }
  kept.push_back(*last);
  points_ = std::move(kept);
}

}  // namespace runner
