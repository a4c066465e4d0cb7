#include "runner/checkpoint/checkpointer.hpp"

#include <algorithm>
#include <cmath>

#include "registry/log.hpp"

namespace runner {

namespace {

// "auto": saving takes at most this share of the time, and no checkpoint follows another sooner than this.
constexpr double most_share = 0.03;
constexpr double shortest_interval = 10;
// Writing in the background takes some of the processor away from training.
constexpr double background_share = 0.5;

std::optional<Interval> interval_of(const CheckpointSection& section) {
  const auto parsed = parse_duration(section.every);
  const auto* duration = std::get_if<Duration>(&parsed);
  return duration ? std::optional(Interval(*duration)) : std::nullopt;
}

// Whether a checkpoint at that place is at a multiple of the interval, or the first after one.
bool at_multiple(const Interval& interval, const CheckpointSummary& summary) {
  Progress before, now;
  now.step = summary.step;
  now.exact_epoch = summary.epoch;
  before = now;
  before.step = std::max<std::int64_t>(0, now.step - 1);
  before.exact_epoch = std::max(0.0, now.exact_epoch - 1e-9);
  return interval.passed(before, now);
}

}  // namespace

Checkpointer::Checkpointer(const CheckpointSection& section, const std::filesystem::path& run_folder,
                           const States& states, TimeLedger& times, std::map<std::string, std::string> texts,
                           std::map<std::string, std::string> versions, bool writes)
    : section_(section),
      store_(run_folder),
      states_(states),
      times_(times),
      texts_(std::move(texts)),
      versions_(std::move(versions)),
      writes_(writes),
      interval_(interval_of(section)) {
  if (section.keep_every) keep_every_.emplace(*section.keep_every);
}

Checkpointer::~Checkpointer() {
  if (writing_.valid()) writing_.wait();
}

void Checkpointer::measured(const Measurements& measurements) {
  measurements_.clear();
  for (const auto& [name, value] : measurements) {
    if (std::isfinite(value)) measurements_[name] = value;
  }
}

bool Checkpointer::due(const Progress& before, const Progress& now) const {
  if (!writes_) return false;
  if (interval_) return interval_->passed(before, now);
  if (section_.every != "auto") return false;
  return now.seconds - last_seconds_ >= std::max(shortest_interval, cost_ / most_share);
}

void Checkpointer::after_step(const Progress& now, bool wanted) {
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) wait();
  if (wanted) save(now);
}

void Checkpointer::at_end(const Progress& now, bool interrupted) {
  if (interrupted || (section_.at_end && section_.every != "never")) save(now);
  const auto counted = times_.during(TimeLedger::checkpoints);
  wait();
}

void Checkpointer::on_exception(const Progress& now) noexcept {
  try {
    if (section_.on_exception && section_.every != "never") save(now);
    wait();
  } catch (const std::exception& error) {
    log::error("No checkpoint could be written of the run that failed: {}", error.what());
  }
}

void Checkpointer::save(const Progress& now) {
  if (saved_samples_ == now.samples) return;
  const auto counted = times_.during(TimeLedger::checkpoints);
  wait();
  const auto began = Clock::now();
  Checkpoint checkpoint;
  checkpoint.step = now.step;
  checkpoint.epoch = now.exact_epoch;
  checkpoint.seconds = now.seconds;
  checkpoint.measurements = measurements_;
  checkpoint.texts = texts_;
  checkpoint.versions = versions_;
  for (const auto& [name, stateful] : states_) {
    const State state = stateful->save();
    if (writes_) checkpoint.states[name] = state.copy();
  }
  saved_samples_ = now.samples;
  last_seconds_ = now.seconds;
  cost_ = std::chrono::duration<double>(Clock::now() - began).count();
  if (!writes_) return;
  writing_ = std::async(std::launch::async, [this, checkpoint = std::move(checkpoint)] {
    const auto start = Clock::now();
    const CheckpointSettings settings{static_cast<std::int64_t>(section_.max_shard_size.bytes)};
    store_.write(checkpoint, settings, section_.keep,
                 [&](const CheckpointSummary& old) { return keep_every_ && at_multiple(*keep_every_, old); });
    return std::chrono::duration<double>(Clock::now() - start).count();
  });
  if (!section_.async) wait();
}

void Checkpointer::wait() {
  if (!writing_.valid()) return;
  cost_ += background_share * writing_.get();
  ++written_;
}

}  // namespace runner
