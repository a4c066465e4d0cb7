#include "runner/checkpoint/checkpoint_policy.hpp"

#include <algorithm>

namespace runner {

namespace {

// "auto": saving takes at most this share of the time.
constexpr double most_share = 0.03;
// At least this many seconds between checkpoints: a thirtieth of the average lifetime of the processes of the
// run so far, so that a run that is new or fails often loses little.
constexpr double shortest_interval = 1, usual_interval = 10;
constexpr double part_of_life = 1.0 / 30;
// Writing in the background takes some of the processor away from training.
constexpr double background_share = 0.5;

}  // namespace

CheckpointPolicy::CheckpointPolicy(const CheckpointSection& section)
    : automatic_(section.every == "auto"),
      disabled_(section.every == "never"),
      at_end_(section.at_end),
      on_exception_(section.on_exception),
      async_(section.async) {
  const auto parsed = parse_duration(section.every);
  if (const auto* every = std::get_if<Duration>(&parsed)) every_.emplace(*every);
  if (section.keep_every) keep_every_.emplace(*section.keep_every);
}

bool CheckpointPolicy::due(const Progress& before, const Progress& now) const {
  if (disabled_) return false;
  return (keep_every_ && keep_every_->passed(before, now)) || (every_ && every_->passed(before, now));
}

bool CheckpointPolicy::due_by_clock(const Progress& now) const {
  // The cost of a checkpoint that is being written is unknown, and another one would only wait for it.
  if (!automatic_ || writing_) return false;
  const double interval =
      std::clamp(now.seconds / processes_ * part_of_life, shortest_interval, usual_interval);
  return now.seconds - last_.seconds >= std::max(interval, cost_ / most_share);
}

bool CheckpointPolicy::keeps(const Progress& now) const {
  return keep_every_ && keep_every_->passed(last_, now);
}

void CheckpointPolicy::resumed(const Progress& place, std::int64_t restarts) {
  last_ = place;
  processes_ = 1 + static_cast<double>(restarts);
}

void CheckpointPolicy::begun(const Progress& place, double seconds) { writing_ = Writing{place, seconds}; }

void CheckpointPolicy::written(double seconds) {
  last_ = writing_->place;
  cost_ = writing_->waited + (async_ ? background_share : 1) * seconds;
  writing_.reset();
}

}  // namespace runner
