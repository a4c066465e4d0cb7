#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "components/contract/progress.hpp"
#include "components/contract/state.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/recipe/plan.hpp"

namespace runner {

// The progress of a run and its plan, as a checkpoint saves them. Values that follow from the plan (share,
// total_steps) are computed again on loading.
class ProgressState final : public Stateful {
 public:
  // `stand_in`: Splits::stand_in.
  ProgressState(Progress& progress, const Plan& plan, const std::string& stand_in, bool& evaluation_due,
                std::optional<std::string>& ended)
      : progress_(progress),
        plan_(plan),
        stand_in_(stand_in),
        evaluation_due_(evaluation_due),
        ended_(ended) {}

  // load() then only warns if stand-in data takes the place of the real data, or the reverse.
  void allow_other_data() { other_data_allowed_ = true; }

  // What a new plan needs to know about the plan of a saved run.
  static EarlierPlan plan_of(const State& state) {
    require_possible(state);
    StateReader saved(state);
    return {saved.integer("steps_per_epoch"),
            saved.number("extra_steps"),
            saved.integer("step"),
            {saved.integer("cursor.epoch"), saved.integer("cursor.position")}};
  }

  // Whether the run was over when this state was saved.
  static bool has_ended(const State& state) { return state.texts.contains("ended"); }

  State save() const override {
    State state{.integers = {{"step", progress_.step},
                             {"epoch", progress_.epoch},
                             {"examples", progress_.examples},
                             {"skipped_steps", progress_.skipped_steps},
                             {"cursor.epoch", progress_.cursor.epoch},
                             {"cursor.position", progress_.cursor.position},
                             {"steps_per_epoch", plan_.steps_per_epoch},
                             {"examples_per_epoch", plan_.examples_per_epoch},
                             {"stand_in", stands_in() ? 1 : 0},
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
    compare_source(saved.integer("stand_in") != 0);
    compare_data(saved.integer("examples_per_epoch"));
    ended_.reset();
    if (has_ended(state)) ended_ = saved.text("ended");
    saved.finish();
  }

 private:
  bool stands_in() const { return !stand_in_.empty(); }

  // With dataset.fallback, whether the data can be found decides what a run trains on, not the recipe.
  void compare_source(bool stood_in) const {
    if (stands_in() == stood_in) return;
    const std::string change =
        stood_in
            ? "the run has used stand-in data so far, but the data that the recipe names is available now"
            : "the data that the recipe names is not available now, and stand-in data would take its place";
    const std::string remedy =
        stood_in ? "start a new run in another run.dir" : "make the data available again";
    if (!other_data_allowed_)
      throw StateError(change + "; " + remedy + ", or continue with what there is now (--force)");
    log::warning("Resuming with other data: {}. The results may differ.", change);
  }

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
  const std::string& stand_in_;
  bool& evaluation_due_;
  std::optional<std::string>& ended_;
  bool other_data_allowed_ = false;
};

}  // namespace runner
