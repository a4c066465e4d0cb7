#pragma once

#include <optional>
#include <string>

#include "components/contract/progress.hpp"
#include "components/contract/state.hpp"

namespace runner {

// How far a run is, as a checkpoint keeps it. What the plan says (share, total_steps) is worked out anew.
class ProgressState final : public Stateful {
 public:
  ProgressState(Progress& progress, bool& evaluation_due, std::optional<std::string>& ended)
      : progress_(progress), evaluation_due_(evaluation_due), ended_(ended) {}

  State save() const override {
    State state{.integers = {{"step", progress_.step},
                             {"epoch", progress_.epoch},
                             {"samples", progress_.samples},
                             {"skipped_steps", progress_.skipped_steps},
                             {"cursor.epoch", progress_.cursor.epoch},
                             {"cursor.position", progress_.cursor.position},
                             {"evaluation_due", evaluation_due_ ? 1 : 0}},
                .numbers = {{"exact_epoch", progress_.exact_epoch}, {"seconds", progress_.seconds}}};
    if (ended_) state.texts["ended"] = *ended_;
    return state;
  }

  void load(const State& state) override {
    StateReader saved(state);
    progress_.step = saved.integer("step");
    progress_.epoch = saved.integer("epoch");
    progress_.samples = saved.integer("samples");
    progress_.skipped_steps = saved.integer("skipped_steps");
    progress_.cursor = {saved.integer("cursor.epoch"), saved.integer("cursor.position")};
    progress_.exact_epoch = saved.number("exact_epoch");
    progress_.seconds = saved.number("seconds");
    evaluation_due_ = saved.find_integer("evaluation_due").value_or(0) != 0;
    ended_.reset();
    if (state.texts.contains("ended")) ended_ = saved.text("ended");
    saved.finish();
  }

 private:
  Progress& progress_;
  bool& evaluation_due_;
  std::optional<std::string>& ended_;
};

}  // namespace runner
