#pragma once

#include <string_view>

namespace runner {

// How a run ended: it did everything that was planned; a hook stopped it; a signal interrupted it; or it
// failed, which includes weights that have diverged.
enum class Outcome { finished, stopped, interrupted, failed };

constexpr std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::finished: return "finished";
    case Outcome::stopped: return "stopped";
    case Outcome::interrupted: return "interrupted";
    case Outcome::failed: break;
  }
  return "failed";
}

constexpr bool ended_well(Outcome outcome) {
  return outcome == Outcome::finished || outcome == Outcome::stopped;
}

}  // namespace runner
