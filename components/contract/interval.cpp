#include "components/contract/interval.hpp"

#include <cmath>

namespace runner {

namespace {

// Thirds of an epoch do not add up to exactly one: a moment missed by a rounding error counts as reached.
constexpr double tolerance = 1e-9;

double done(const Progress& progress, Duration::Unit unit) {
  switch (unit) {
    case Duration::Unit::epoch: return progress.exact_epoch;
    case Duration::Unit::step: return static_cast<double>(progress.step);
    case Duration::Unit::second: return progress.seconds;
    case Duration::Unit::run: return progress.share;
    case Duration::Unit::never: break;
  }
  return 0;
}

}  // namespace

bool reached(const Duration& moment, const Progress& progress) {
  if (moment.unit == Duration::Unit::never) return false;
  return done(progress, moment.unit) >= moment.amount - tolerance;
}

bool Interval::passed(const Progress& before, const Progress& now) const {
  if (every_.unit == Duration::Unit::never) return false;
  const auto multiples = [&](const Progress& progress) {
    return std::floor(done(progress, every_.unit) / every_.amount + tolerance);
  };
  return multiples(now) > multiples(before);
}

}  // namespace runner
