#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "components/contract/state.hpp"

namespace runner {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Where the time of a run goes. Every moment belongs to exactly one activity, so the parts add up to the
// whole.
class TimeLedger final : public Stateful {
 public:
  enum Activity { starting, data, compute, update, communication, evaluation, checkpoints, other, lost };
  static constexpr std::array<std::string_view, 9> names{
      "start-up",    "data",  "forward and backward", "update", "communication", "evaluation",
      "checkpoints", "other", "lost to restarts"};

  // While it exists, time counts for this activity; afterwards for the previous one again.
  class Scope {
   public:
    Scope(TimeLedger& ledger, Activity activity) : ledger_(ledger), before_(ledger.current_) {
      ledger_.switch_to(activity);
    }
    ~Scope() { ledger_.switch_to(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    TimeLedger& ledger_;
    Activity before_;
  };

  [[nodiscard]] Scope during(Activity activity) { return {*this, activity}; }
  void switch_to(Activity activity);
  void add(Activity activity, double seconds) { spent_[activity] += seconds; }  // spent before it was created
  // This process continues the run of an earlier one, which did not save its last steps.
  void restarted(double seconds_lost);

  double seconds(Activity activity) const;
  std::int64_t restarts() const { return restarts_; }
  double total() const;  // of all activities, including earlier attempts of a resumed run

  State save() const override;
  void load(const State& state) override;  // adds to the time that was spent so far

 private:
  using Clock = std::chrono::steady_clock;

  std::array<double, names.size()> spent_{};
  std::int64_t restarts_ = 0;
  Activity current_ = starting;
  Clock::time_point since_ = Clock::now();
};

}  // namespace runner
