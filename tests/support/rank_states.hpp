// States as a run on several ranks has them: one that all have, and one of which each rank has a part.
#pragma once

#include "runner/checkpoint/checkpointer.hpp"
#include "tests/support/ranks.hpp"

namespace runner::testing {

class FixedState final : public Stateful {
 public:
  explicit FixedState(State state) : state_(std::move(state)) {}
  State save() const override { return state_; }

 private:
  State state_;
};

inline State part_of_rank(int rank, std::int64_t step) {
  const std::string name = "layer" + std::to_string(rank);
  State state{.tensors = {{name + ".exp_avg", torch::full({64}, static_cast<double>(100 * rank + step))}},
              .integers = {{name + ".step", step}, {"of_all", 7}}};
  state.parts["inner"].tensors[name + ".momentum"] = torch::arange(rank + 1, torch::kFloat);
  return state;
}

// Saves one checkpoint as a run does that ends at this step; what each rank threw.
inline std::vector<std::exception_ptr> save_together(int ranks, const std::filesystem::path& run_folder,
                                                     std::int64_t step,
                                                     const std::function<State(int rank)>& part) {
  return try_on_ranks(ranks, [&](World& world) {
    FixedState model({.tensors = {{"weight", torch::full({64}, static_cast<double>(step))}}});
    FixedState optimizer(part(world.rank()));
    TimeLedger times;
    const Checkpointer::States states{{"model", &model}, {"optimizer", &optimizer}};
    // Only rank 0 has the run's folder.
    const std::filesystem::path own = world.is_main() ? run_folder : std::filesystem::path("/nowhere");
    Checkpointer checkpointer({}, own, states, times, {{"recipe.toml", "a = 1\n"}}, {},
                              {world, {"optimizer"}, std::chrono::seconds(20)});
    Progress now;
    now.step = now.examples = step;
    checkpointer.at_end(now, /*interrupted=*/true);
  });
}

}  // namespace runner::testing
