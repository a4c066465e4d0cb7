#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "components/contract/progress.hpp"
#include "components/contract/state.hpp"
#include "registry/log.hpp"
#include "registry/wording.hpp"
#include "runner/plan.hpp"

namespace runner {

// The progress of a run and its plan, as a checkpoint saves them. Values that follow from the plan (share,
// total_steps) are computed again on loading.
class ProgressState final : public Stateful {
 public:
  ProgressState(Progress& progress, const Plan& plan, bool& evaluation_due, std::optional<std::string>& ended)
      : progress_(progress), plan_(plan), evaluation_due_(evaluation_due), ended_(ended) {}

  // What a new plan needs to know about the plan of a saved run.
  static EarlierPlan plan_of(const State& state) {
    require_possible(state);
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
                             {"examples_per_epoch", plan_.examples_per_epoch},
                             {"evaluation_due", evaluation_due_ ? 1 : 0}},
                .numbers = {{"exact_epoch", progress_.exact_epoch},
                            {"extra_steps", plan_.extra_steps},
                            {"seconds", progress_.seconds}}};
    if (ended_) state.texts["ended"] = *ended_;
    return state;
  }

  void load(const State& state) override {
    require_possible(state);
    StateReader saved(state);
    progress_.step = saved.integer("step");
    progress_.epoch = saved.integer("epoch");
    progress_.examples = saved.integer("examples");
    progress_.skipped_steps = saved.integer("skipped_steps");
    progress_.cursor = {saved.integer("cursor.epoch"), saved.integer("cursor.position")};
    progress_.exact_epoch = saved.number("exact_epoch");
    progress_.seconds = saved.number("seconds");
    progress_.share = plan_.share(progress_);
    evaluation_due_ = saved.integer("evaluation_due") != 0;
    saved.integer("steps_per_epoch");  // these two were used to make the plan
    saved.number("extra_steps");
    compare_data(saved.integer("examples_per_epoch"));
    ended_.reset();
    if (state.texts.contains("ended")) ended_ = saved.text("ended");
    saved.finish();
  }

 private:
  // The files of a dataset may have changed since; its settings are compared with the recipe.
  void compare_data(std::int64_t examples_before) const {
    const std::int64_t examples = plan_.examples_per_epoch, position = progress_.cursor.position;
    if (examples == examples_before) return;
    const std::string change = "the training set has " + std::to_string(examples) + " examples, but had " +
                               std::to_string(examples_before) + " when the checkpoint was written";
    if (position > examples)
      throw StateError(change + ", and the run was at example " + std::to_string(position) + " of an epoch");
    log::warning("Resuming with other data: {}. The results may differ.", change);
  }

  // In a file that somebody edited, counts and times could overflow, or refer to examples that do not exist.
  static void require_possible(const State& state) {
    constexpr std::int64_t most = std::int64_t{1} << 53;  // the integers that a double represents exactly
    const auto require = [](bool possible, const std::string& name) {
      if (!possible) throw StateError(in_quotes(name) + " has an impossible value");
    };
    for (const auto& [name, count] : state.integers) require(count >= 0 && count <= most, name);
    for (const auto& [name, number] : state.numbers) require(std::abs(number) <= most, name);
  }

  Progress& progress_;
  const Plan& plan_;
  bool& evaluation_due_;
  std::optional<std::string>& ended_;
};

}  // namespace runner
