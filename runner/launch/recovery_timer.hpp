#pragma once

#include <chrono>
#include <optional>

#include "runner/distributed/sighting.hpp"

namespace runner {

// How long a restart took: from the failure to the end of the first new step. The model may be built long
// before that, and the step at which training resumes is that of the checkpoint.
class RecoveryTimer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RecoveryTimer(std::optional<Clock::time_point> failed_at) : failed_at_(failed_at) {}

  bool running() const { return failed_at_.has_value(); }

  // Returns the time once, when rank 0 has been seen after such a step.
  std::optional<std::chrono::duration<double>> seen(const std::optional<Sighting>& rank_0) {
    if (!failed_at_ || !rank_0 || rank_0->step <= rank_0->first_step) return {};
    const std::chrono::duration<double> taken = Clock::now() - *failed_at_;
    failed_at_.reset();
    return taken;
  }

 private:
  std::optional<Clock::time_point> failed_at_;
};

}  // namespace runner
