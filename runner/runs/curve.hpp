#pragma once

#include <cstddef>
#include <vector>

namespace runner {

struct CurvePoint {
  double x = 0, y = 0;
};

// A curve of any length in bounded memory. Where points have to go, each stretch keeps its lowest and its
// highest, so every point that is left was measured and no extreme is lost.
class Curve {
 public:
  explicit Curve(std::size_t most = 2048) : most_(most) {}

  // x ascends. One that is not above the last begins again from there: a run was resumed, and what it had
  // measured after that point is measured anew.
  void add(double x, double y);
  void thin(std::size_t most);  // to about that many points

  const std::vector<CurvePoint>& points() const { return points_; }
  std::size_t added() const { return added_; }

 private:
  std::size_t most_;
  std::size_t added_ = 0;
  std::vector<CurvePoint> points_;
};

}  // namespace runner
