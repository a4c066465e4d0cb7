#include "runner/engine/strategies/together.hpp"

#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("together: many tensors in one broadcast, of any kind and layout") {
  on_ranks(2, [](World& world) {
    const auto own = static_cast<double>(world.rank());
    const std::vector<torch::Tensor> tensors{
        torch::full({2, 3, 4, 4}, own).contiguous(torch::MemoryFormat::ChannelsLast),
        torch::full({3}, own, torch::kInt64),
        torch::full({}, own),
        torch::full({5}, own, torch::kFloat64),
        torch::full({3}, own, torch::kInt16),
        torch::full({2}, own, torch::kComplexFloat),
        torch::full({4}, own, torch::kBool)};
    broadcast_together(world, tensors, 1, "a test");
    for (const torch::Tensor& tensor : tensors) require((tensor == 1).all().item<bool>(), "a tensor");
    require(tensors[0].is_contiguous(torch::MemoryFormat::ChannelsLast), "the layout");
  });
}

TEST_CASE("together: every rank gets the whole state of one") {
  struct Measured final : Stateful {
    State state;
    State save() const override { return state.copy(); }
    void load(const State& other) override { state = other.copy(); }
  };
  on_ranks(3, [](World& world) {
    const int rank = world.rank();
    Measured measured;
    measured.state = {.tensors = {{"a", torch::full({2}, rank)}}, .integers = {{"b", rank}}};
    measured.state.parts["inner"] = {.tensors = {{"c", torch::full({1}, rank + 0.5)}},
                                     .numbers = {{"d", rank + 0.25}}};
    share_state(world, measured, 2, "a test");
    const State& inner = measured.state.parts.at("inner");
    require((measured.state.tensors.at("a") == 2).all().item<bool>(), "a");
    require(measured.state.integers.at("b") == 2, "b");
    require(inner.tensors.at("c").item<double>() == 2.5, "c");
    require(inner.numbers.at("d") == 2.25, "d");
  });
}

TEST_CASE("together: tensors that differ are named, and the rank") {
  const auto errors = try_on_ranks(3, [](World& world) {
    std::vector<NamedTensor> tensors{{"first", torch::ones(3)}, {"second", torch::ones(3)}};
    require_equal(world, tensors, "the weights");
    if (world.rank() == 2) tensors[1].tensor[0] = 1.0000001F;
    require_equal(world, tensors, "the weights");
  });
  for (const auto& error : errors)
    CHECK(message_of(error) == "Rank 2 and rank 0 differ in \"second\" (the weights).");
}

TEST_CASE("together: claims that differ are all named") {
  const auto errors = try_on_ranks(3, [](World& world) {
    require_equal(world, {{"version", "1"}, {"recipe", "a"}});
    require_equal(world, {{"version", world.rank() == 1 ? "2" : "1"}, {"recipe", "a"}, {"data", "d"}});
  });
  const std::string message = message_of(errors[0]);
  CHECK_THAT(message, ContainsSubstring("version: 1 on ranks 0, 2; 2 on rank 1."));
  CHECK_THAT(message, !ContainsSubstring("recipe"));
  CHECK_THAT(message, ContainsSubstring("do not have the same settings"));
}

TEST_CASE("together: a claim that only some ranks make is named") {
  const auto errors = try_on_ranks(3, [](World& world) {
    Claims claims{{"model.name", "mlp"}};
    if (world.rank() == 1) claims.emplace_back("model.hidden", "64");
    require_equal(world, claims);
  });
  CHECK_THAT(message_of(errors[0]), ContainsSubstring("model.hidden: 64 on rank 1; missing on ranks 0, 2.") &&
                                        !ContainsSubstring("model.name"));
}

TEST_CASE("together: weights are sent in messages of a bounded size, and a large one without a copy") {
  // Without values: the meta device stands for a model that is larger than memory.
  struct Recording final : World {
    explicit Recording(int rank) : World({rank, 2, rank, 2, "here"}) {}
    Work begin_broadcast(const torch::Tensor& tensor, int, std::string_view) override {
      messages.emplace_back(tensor.numel(), tensor);
      return {};
    }
    std::vector<std::pair<std::int64_t, torch::Tensor>> messages;
  };
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  std::vector<torch::Tensor> weights;
  for (const std::int64_t size : {30, 30, 30, 400, 1})
    weights.push_back(torch::empty({size, mebi / 4}, torch::kMeta));
  Recording sender(0), receiver(1);
  broadcast_together(sender, weights, 0, "a test");
  broadcast_together(receiver, weights, 0, "a test");
  std::int64_t all = 0;
  REQUIRE(sender.messages.size() == receiver.messages.size());
  for (std::size_t i = 0; i < sender.messages.size(); ++i) {
    const auto& [bytes, message] = sender.messages[i];
    CHECK(receiver.messages[i].first == bytes);
    CHECK((bytes <= 64 * mebi || message.is_alias_of(weights[3])));
    all += bytes;
  }
  CHECK(all == 491 * mebi);
}
