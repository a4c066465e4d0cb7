#include "runner/checkpoint/checkpoint_policy.hpp"

#include <algorithm>

namespace runner {

namespace {

// "auto": saving takes at most this share of the time.
constexpr double most_share = 0.03;
// Seconds between checkpoints, at least: a part of the time between failures, so that little of it is lost.
constexpr double usual_interval = 10, least_interval = 1;
constexpr double part_between_failures = 1.0 / 30;
// Writing in the background takes some of the processor away from training.
constexpr double background_share = 0.5;

}  // namespace

CheckpointPolicy::CheckpointPolicy(const CheckpointSection& section)
    : automatic_(section.every == "auto"),
      disabled_(section.every == "never"),
      at_end_(section.at_end),
      on_exception_(section.on_exception),
      async_(section.async),
      shortest_interval_(usual_interval) {
  const auto parsed = parse_duration(section.every);
  if (const auto* every = std::get_if<Duration>(&parsed)) every_.emplace(*every);
  if (section.keep_every) keep_every_.emplace(*section.keep_every);
}

bool CheckpointPolicy::due(const Progress& before, const Progress& now) const {
  if (disabled_) return false;
  if (keep_every_ && keep_every_->passed(before, now)) return true;
  if (automatic_) return now.seconds - last_.seconds >= std::max(shortest_interval_, cost_ / most_share);
  return every_ && every_->passed(before, now);
}

void CheckpointPolicy::resumed(const Progress& place, double seconds_between_failures) {
  last_ = place;
  shortest_interval_ =
      std::clamp(seconds_between_failures * part_between_failures, least_interval, usual_interval);
}

bool CheckpointPolicy::taken(const Progress& now) {
  const bool keep = keep_every_ && keep_every_->passed(last_, now);
  last_ = now;
  return keep;
}

void CheckpointPolicy::written(double seconds) { cost_ += (async_ ? background_share : 1) * seconds; }

}  // namespace runner
