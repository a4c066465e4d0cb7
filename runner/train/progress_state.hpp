#pragma once

#include "components/contract/progress.hpp"
#include "components/contract/state.hpp"

namespace runner {

// How far a run is, as a checkpoint keeps it. What the plan says (share, total_steps) is worked out anew.
class ProgressState final : public Stateful {
 public:
  explicit ProgressState(Progress& progress) : progress_(progress) {}

  State save() const override {
    return {.integers = {{"step", progress_.step},
                         {"epoch", progress_.epoch},
                         {"samples", progress_.samples},
                         {"skipped_steps", progress_.skipped_steps},
                         {"cursor.epoch", progress_.cursor.epoch},
                         {"cursor.position", progress_.cursor.position}},
            .numbers = {{"exact_epoch", progress_.exact_epoch}, {"seconds", progress_.seconds}}};
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
    saved.finish();
  }

 private:
  Progress& progress_;
};

}  // namespace runner
