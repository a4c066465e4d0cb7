#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <mutex>

#include "components/precisions/autocast.hpp"
#include "runner/engine/runtime/out_of_memory.hpp"
#include "runner/engine/zero3/sharding.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/tensor_memory.hpp"

using namespace runner;
using namespace runner::testing;
using Exchange = NextExchange::Kind;

namespace {

const DataSpec numbers{.input_shape = {64}, .classes = 64};
constexpr std::int64_t layers = 8, unit_bytes = 4 * (64 * 64 + 64);  // a layer each

// The ranks of a test are threads that share one generator of random numbers.
std::shared_ptr<Model> make_model() {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  torch::manual_seed(3);
  return part<ModelKind>("mlp", {{"hidden", Setting::list({64, 64, 64, 64, 64, 64, 64})}}).build({numbers});
}

Batch examples() { return {torch::ones({2, 64}), torch::zeros({2}, torch::kInt64)}; }

void step(Model& model, Sharding& sharding) {
  torch::Tensor loss;
  {
    const ForwardPass pass(&sharding);
    loss = model.forward(examples()).square().mean();
  }
  sharding.parameters.begin_backward();
  {
    const OperatorModeScope gathering(sharding.parameters);
    loss.backward();
  }
  sharding.parameters.end_backward();
  sharding.parameters.join();
  sharding.parameters.give_gradients();
  sharding.parameters.drop_gradients();
}

struct Exchanges {
  std::int64_t waited = 0, prefetched = 0, reduced = 0;
  friend bool operator==(const Exchanges&, const Exchanges&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Exchanges& each) {
    return out << each.waited << " waited for, " << each.prefetched << " prefetched, " << each.reduced
               << " reduced";
  }
};

// Of the second of two steps, when the order of the units is known.
Exchanges exchanges_of_a_step(const ShardingOptions& options) {
  Exchanges found;
  on_ranks(2, [&](World& world) {
    const auto model = make_model();
    Sharding sharding(world, *model, options);
    require(sharding.parameters.units().size() == layers, "a unit for each layer");
    const auto count = [&](Exchange kind) { return sharding.parameters.exchanges(kind); };
    step(*model, sharding);
    const Exchanges first{count(Exchange::gather), count(Exchange::prefetch), count(Exchange::reduce)};
    step(*model, sharding);
    if (world.is_main())
      found = {count(Exchange::gather) - first.waited, count(Exchange::prefetch) - first.prefetched,
               count(Exchange::reduce) - first.reduced};
  });
  return found;
}

}  // namespace

TEST_CASE("sharded parameters: with prefetch only the first unit of a step is waited for", "[zero3]") {
  // The last two units of forward are still there when backward starts, and the gradients of the first need
  // no weights.
  CHECK(exchanges_of_a_step({.unit_bytes = unit_bytes}) == Exchanges{1, 2 * layers - 4, layers});
  CHECK(exchanges_of_a_step({.unit_bytes = unit_bytes, .prefetch = false}) ==
        Exchanges{2 * layers - 3, 0, layers});
}

TEST_CASE("sharded parameters: units that stay after forward are not gathered again", "[zero3]") {
  CHECK(exchanges_of_a_step({.unit_bytes = unit_bytes, .reshard_after_forward = false}) ==
        Exchanges{1, layers - 1, layers});
  CHECK(exchanges_of_a_step({.unit_bytes = unit_bytes, .reshard_after_forward = false, .prefetch = false}) ==
        Exchanges{layers, 0, layers});
}

TEST_CASE("sharded parameters: a rank holds its part, and two units at the most beside it", "[zero3]") {
  const int ranks = GENERATE(2, 4);
  const bool prefetch = GENERATE(false, true), reshard = GENERATE(true, false);
  CAPTURE(ranks, prefetch, reshard);
  std::vector<TensorMemory*> memories;
  for (int rank = 0; rank < ranks; ++rank) memories.push_back(&CountedTensors::new_memory());
  const CountedTensors counted;
  on_ranks(ranks, [&](World& world) {
    TensorMemory& memory = *memories[static_cast<std::size_t>(world.rank())];
    const CountOnThisThread counting(memory);
    const auto model = make_model();
    const std::int64_t whole = memory.now();
    constexpr std::int64_t some = 8192;  // activations, and numbers that ranks agree with
    Sharding sharding(world, *model,
                      {.unit_bytes = unit_bytes, .reshard_after_forward = reshard, .prefetch = prefetch});
    const std::int64_t kept = memory.now();
    require(kept <= whole / ranks + some, "its part");
    memory.forget_most();
    {
      const ForwardPass pass(&sharding);
      const torch::Tensor output = model->forward(examples());
      if (reshard)
        require(memory.most() <= kept + 2 * unit_bytes + some,
                std::to_string(memory.most() - kept) + " bytes are two units more");
      if (!reshard) require(memory.now() >= kept + whole, "all of it");
    }
    sharding.parameters.join();
    memory.forget_most();
    {
      const torch::NoGradGuard no_grad;
      const ForwardPass pass(&sharding);
      model->forward(examples());
    }
    sharding.parameters.join();
    require(memory.most() <= kept + 2 * unit_bytes + some, "two units more, in evaluation");
    require(memory.most() > kept + unit_bytes, "something was gathered");
    require(memory.now() <= kept + some, "and released");
    for (const auto& unit : sharding.parameters.units()) {
      // What is not gathered cannot be read by mistake.
      std::string refused;
      try {
        unit->parameters().front().tensor.sum().item<float>();
      } catch (const c10::Error& error) {
        refused = error.what();
      }
      require(refused.find("sharded across ranks and not gathered") != std::string::npos, "cannot be read");
    }
  });
}

TEST_CASE("sharded parameters: gathered in the compute type they take half the memory, and no copy stays",
          "[zero3]") {
  constexpr std::int64_t cast_bytes = 2 * 64 * 64 + 4 * 64;  // biases are not cast
  std::vector<TensorMemory*> memories{&CountedTensors::new_memory(), &CountedTensors::new_memory()};
  const CountedTensors counted;
  on_ranks(2, [&](World& world) {
    TensorMemory& memory = *memories[static_cast<std::size_t>(world.rank())];
    const CountOnThisThread counting(memory);
    const auto model = make_model();
    Sharding sharding(world, *model, {.unit_bytes = unit_bytes, .cast = torch::kBFloat16});
    constexpr std::int64_t some = 14000;  // activations, and what kernels take for a moment
    const std::int64_t kept = memory.now();
    memory.forget_most();
    torch::Tensor loss;
    {
      const ForwardPass pass(&sharding);
      const AutocastScope autocast(torch::kCPU, torch::kBFloat16);
      loss = model->forward(examples()).square().mean();
      require(memory.most() <= kept + 2 * cast_bytes + some,
              std::to_string(memory.most() - kept) + " bytes are two units in bf16");
      require(memory.most() > kept + cast_bytes, "something was gathered");
    }
    require(memory.now() <= kept + 2 * cast_bytes + some, "autocast keeps no copies for backward");
    sharding.parameters.begin_backward();
    {
      const OperatorModeScope gathering(sharding.parameters);
      loss.backward();
    }
    sharding.parameters.end_backward();
    sharding.parameters.join();
    const auto count = [&](Exchange kind) { return sharding.parameters.exchanges(kind); };
    // As without: nobody needed them uncast.
    require(count(Exchange::gather) + count(Exchange::prefetch) == 2 * layers - 3, "gathered once more");
  });
}

TEST_CASE("sharded parameters: a rank without memory for a unit fails with a remedy, and is named",
          "[zero3]") {
  const int failing = GENERATE(0, 1);
  std::vector<TensorMemory*> memories{&CountedTensors::new_memory(), &CountedTensors::new_memory()};
  const CountedTensors counted;
  const auto errors = try_on_ranks(2, [&](World& world) {
    TensorMemory& memory = *memories[static_cast<std::size_t>(world.rank())];
    const CountOnThisThread counting(memory);
    const auto model = make_model();
    Sharding sharding(world, *model, {.unit_bytes = unit_bytes});
    if (world.rank() == failing) memory.set_limit(memory.now() + unit_bytes / 2);
    try {
      step(*model, sharding);
    } catch (const std::exception& error) {
      // Otherwise this rank would try again while the others wait in the exchange.
      require(!is_out_of_memory(error), "it can be tried again");
      throw;
    }
  });
  const auto at = static_cast<std::size_t>(failing);
  CHECK_THAT(message_of(errors[at]), Catch::Matchers::ContainsSubstring("lower distributed.unit_size"));
  CHECK_THAT(message_of(errors[1 - at]),
             Catch::Matchers::ContainsSubstring("rank " + std::to_string(failing)));
}
