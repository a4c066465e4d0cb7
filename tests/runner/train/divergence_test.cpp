#include "runner/train/divergence.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <limits>

#include "registry/base/log.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/rank_training.hpp"
#include "tests/support/small_model.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

// An engine whose model has these weights.
struct Prepared {
  explicit Prepared(std::vector<float> weights) : model(std::make_shared<SmallModel>(std::move(weights))) {
    engine.prepare(model);
  }

  World world;
  std::shared_ptr<SmallModel> model;
  Engine engine{options(), world};

 private:
  static EngineOptions options() {
    EngineOptions options;
    options.precision = [](const PrecisionInputs& inputs) {
      return part<PrecisionKind>("fp32").build(inputs);
    };
    return options;
  }
};

WindowLoss loss_of(double value) { return {torch::tensor(value), 1}; }

}  // namespace

TEST_CASE("divergence: a loss that is not finite is refused, and names what is wrong") {
  World alone;
  DivergenceGuard guard(OnDivergence::stop, false);
  CHECK_FALSE(guard.refuses(loss_of(3), {}, 1, true, alone));
  CHECK(guard.refuses(loss_of(std::nan("")), {}, 2, true, alone));
  CHECK_THAT(guard.problem(), ContainsSubstring("not a number in step 2"));

  DivergenceGuard by_data(OnDivergence::stop, false);
  const Window window{{{torch::tensor({infinite}), torch::zeros(1)}}};
  CHECK(by_data.refuses(loss_of(infinite), window, 5, true, alone));
  CHECK_THAT(by_data.problem(), ContainsSubstring("inputs of its batch are not finite"));

  const log::Silence silence;
  DivergenceGuard lenient(OnDivergence::go_on, false);
  CHECK_FALSE(lenient.refuses(loss_of(infinite), {}, 1, true, alone));
  CHECK(lenient.problem().empty());
  log::clear_warnings();
}

TEST_CASE("divergence: all ranks name the rank whose data is not finite") {
  on_ranks(3, [](World& world) {
    const float input = world.rank() == 1 ? infinite : 1;
    const Window window{{{torch::tensor({input}), torch::zeros(1)}}};
    const std::string cause = "the loss is infinite in step 5, because inputs of its batch on rank 1 are not";
    DivergenceGuard guard(OnDivergence::stop, false);
    require(guard.refuses(loss_of(infinite), window, 5, true, world), "the update is refused");
    require(guard.problem().starts_with(cause), guard.problem());
    DivergenceGuard stopped(OnDivergence::stop, false);
    stopped.stopped_by_hook("a hook says so", loss_of(infinite), window, 5, world);
    require(stopped.problem().starts_with(cause), stopped.problem());

    DivergenceGuard sound(OnDivergence::stop, false);
    sound.stopped_by_hook("a hook says so", loss_of(infinite), {}, 5, world);
    require(sound.problem() == "a hook says so", sound.problem());
  });
}

TEST_CASE("divergence: weights that began as infinite numbers are no sign of it, those that became so are") {
  Prepared mask({1, -infinite, 3});
  DivergenceGuard guard(OnDivergence::stop, false);
  guard.begin(mask.engine);
  guard.look_at(mask.engine);
  CHECK(guard.problem().empty());

  Prepared sound({1, 2, 3});
  DivergenceGuard strict(OnDivergence::stop, false);
  strict.begin(sound.engine);
  sound.model->set({1, infinite, 3});
  strict.look_at(sound.engine);
  CHECK_THAT(strict.problem(), ContainsSubstring("the weights are no longer finite"));
}

TEST_CASE("divergence: a resumed run remembers which weights began as infinite numbers") {
  Prepared mask({1, -infinite, 3});
  DivergenceGuard before(OnDivergence::stop, false);
  before.begin(mask.engine);

  Prepared resumed({0, 0, 0});  // built without values, which the checkpoint brings
  DivergenceGuard after(OnDivergence::stop, false);
  after.begin(resumed.engine);
  after.load(before.save());
  resumed.model->set({1, -infinite, 3});
  after.look_at(resumed.engine);
  CHECK(after.problem().empty());
}

TEST_CASE("divergence: what one rank knows of its part of the weights, all ranks know") {
  on_ranks(2, [](World& world) {
    Trainee trainee(world, {});
    const torch::NoGradGuard no_grad;
    if (world.rank() == 1) trainee.engine.weights().held_parameters()[0].tensor.fill_(infinite);
    DivergenceGuard guard(OnDivergence::stop, false);
    guard.begin(trainee.engine);
    if (guard.save().parts.at("not_finite_at_first").integers.size() != 1)
      throw std::logic_error("rank 0 would save something else");
  });
}

TEST_CASE("divergence: skipped updates are counted on after a resume, and every entry is needed") {
  DivergenceGuard before(OnDivergence::stop, true);
  for (int step = 0; step < 99; ++step) before.updated(false, step);
  CHECK(before.problem().empty());
  DivergenceGuard after(OnDivergence::stop, true);
  after.load(before.save());
  after.updated(false, 99);
  CHECK_THAT(after.problem(), ContainsSubstring("100 updates in a row were skipped"));

  for (const std::string name : {"in_a_row", "skipped_in_a_row"}) {
    State state = before.save();
    state.integers.erase(name);
    CHECK_THROWS_WITH(after.load(state), ContainsSubstring(name));
  }
  State state = before.save();
  state.parts.clear();
  CHECK_THROWS_WITH(after.load(state), ContainsSubstring("not_finite_at_first"));
}

TEST_CASE("divergence: on a CPU every loss is looked at") {
  World alone;
  DivergenceGuard guard(OnDivergence::stop, false);
  CHECK(guard.refuses(loss_of(std::nan("")), {}, 2, /*look=*/false, alone));
}

TEST_CASE("divergence: while a precision skips updates, the hundredth bad loss in a row ends the run") {
  World alone;
  const log::Silence silence;
  DivergenceGuard guard(OnDivergence::stop, true);
  const auto bad_step = [&](std::int64_t step) {
    const bool refused = guard.refuses(loss_of(infinite), {}, step, true, alone);
    if (!refused) guard.updated(true, step);  // the gradients were finite
    return refused;
  };
  for (std::int64_t step = 1; step <= 50; ++step) REQUIRE_FALSE(bad_step(step));
  CHECK_FALSE(guard.refuses(loss_of(1), {}, 51, true, alone));
  guard.updated(true, 51);  // from here they are counted anew
  for (std::int64_t step = 52; step <= 150; ++step) REQUIRE_FALSE(bad_step(step));
  CHECK(bad_step(151));
  CHECK_THAT(guard.problem(), ContainsSubstring("infinite in step 151"));
  log::clear_warnings();
}

TEST_CASE("divergence: a run that continues in spite of it ends if 1000 updates in a row are skipped") {
  DivergenceGuard before(OnDivergence::go_on, true), after(OnDivergence::go_on, true);
  for (int step = 0; step < 999; ++step) before.updated(false, step);
  CHECK(before.problem().empty());
  after.load(before.save());
  after.updated(false, 999);
  CHECK_THAT(after.problem(), ContainsSubstring("1000 updates in a row were skipped"));
}

TEST_CASE(
    "divergence: weights and buffers are looked at again after an update, and the first reason counts") {
  Prepared sound({1, 2, 3});
  DivergenceGuard guard(OnDivergence::stop, false);
  guard.begin(sound.engine);
  guard.look_at(sound.engine);
  CHECK(guard.problem().empty());
  sound.model->mean.fill_(std::nan(""));
  guard.updated(true, 1);
  guard.look_at(sound.engine);
  CHECK_THAT(guard.problem(), ContainsSubstring("the weights are no longer finite"));
  guard.stopped_by_hook("a hook says so", loss_of(1), {}, 2, sound.world);
  CHECK_THAT(guard.problem(), ContainsSubstring("the weights are no longer finite"));
}
