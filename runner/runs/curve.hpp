#pragma once

#include <cstddef>
#include <vector>

namespace runner {

struct CurvePoint {
  double x = 0, y = 0;
};

// A curve of any length in bounded memory. If it gets too long, each stretch keeps only its lowest and its
// highest point, so every remaining point was measured and no extreme is lost.
class Curve {
 public:
  explicit Curve(std::size_t most = 2048) : most_(most) {}

  // x must increase. If it does not, the run was resumed: points from x on are removed, because they are
  // measured again.
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
