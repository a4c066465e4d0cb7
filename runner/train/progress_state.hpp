#pragma once

#include <optional>
#include <string>

#include "components/contract/progress.hpp"
#include "components/contract/state.hpp"
#include "runner/plan.hpp"

namespace runner {

// The progress of a run and its plan, as a checkpoint saves them. Values that follow from the plan (share,
// total_steps) are computed again on loading.
class ProgressState final : public Stateful {
 public:
  ProgressState(Progress& progress, const Plan& plan, bool& evaluation_due, std::optional<std::string>& ended)
      : progress_(progress), plan_(plan), evaluation_due_(evaluation_due), ended_(ended) {}

  // What a new plan has to know about the plan that led to a saved state.
  static EarlierPlan plan_of(const State& state) {
    StateReader saved(state);
    return {saved.integer("steps_per_epoch"), saved.number("extra_steps"), saved.integer("step"),
            saved.number("exact_epoch")};
  }

  State save() const override {
    State state{.integers = {{"step", progress_.step},
                             {"epoch", progress_.epoch},
                             {"examples", progress_.examples},
                             {"skipped_steps", progress_.skipped_steps},
                             {"cursor.epoch", progress_.cursor.epoch},
                             {"cursor.position", progress_.cursor.position},
                             {"steps_per_epoch", plan_.steps_per_epoch},
                             {"evaluation_due", evaluation_due_ ? 1 : 0}},
                .numbers = {{"exact_epoch", progress_.exact_epoch},
                            {"extra_steps", plan_.extra_steps},
                            {"seconds", progress_.seconds}}};
    if (ended_) state.texts["ended"] = *ended_;
    return state;
  }

  void load(const State& state) override {
    StateReader saved(state);
    progress_.step = saved.integer("step");
    progress_.epoch = saved.integer("epoch");
    progress_.examples = saved.integer("examples");
    progress_.skipped_steps = saved.integer("skipped_steps");
    progress_.cursor = {saved.integer("cursor.epoch"), saved.integer("cursor.position")};
    progress_.exact_epoch = saved.number("exact_epoch");
    progress_.seconds = saved.number("seconds");
    evaluation_due_ = saved.find_integer("evaluation_due").value_or(0) != 0;
    saved.integer("steps_per_epoch");  // the plan was made with both
    saved.number("extra_steps");
    ended_.reset();
    if (state.texts.contains("ended")) ended_ = saved.text("ended");
    saved.finish();
  }

 private:
  Progress& progress_;
  const Plan& plan_;
  bool& evaluation_due_;
  std::optional<std::string>& ended_;
};

}  // namespace runner
