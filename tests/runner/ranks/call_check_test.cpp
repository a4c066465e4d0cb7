#include <torch/types.h>

#include <catch2/catch_all.hpp>
#include <functional>

#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("call check: the rank that differs is named") {
  GroupOptions options{.timeout = 5s};
  options.check_collectives = true;
  SECTION("nothing differs") {
    on_ranks(
        3,
        [](World& world) {
          for (int i = 0; i < 5; ++i) world.all_reduce(torch::zeros(2), Reduction::sum, "a test");
          world.gather(torch::zeros({world.rank(), 2}), "a test");
        },
        options);
  }
  SECTION("shapes") {
    const auto errors = try_on_ranks(
        3,
        [](World& world) {
          world.all_reduce(torch::zeros(world.rank() == 1 ? 3 : 2), Reduction::sum, "the gradients");
        },
        options);
    for (const auto& error : errors)
      CHECK_THAT(message_of(error), ContainsSubstring("rank 1: all_reduce (sum) of the gradients: float [3]; "
                                                      "rank 0, rank 2:"));
  }
  SECTION("order") {
    const auto errors = try_on_ranks(
        3,
        [](World& world) {
          if (world.rank() == 2)
            world.broadcast(torch::zeros(2), 0, "the weights");
          else
            world.all_reduce(torch::zeros(2), Reduction::sum, "the gradients");
        },
        options);
    CHECK_THAT(message_of(errors[0]), ContainsSubstring("rank 2: broadcast (from rank 0) of the weights"));
  }
  SECTION("where a broadcast comes from") {
    const auto errors = try_on_ranks(
        2, [](World& world) { world.broadcast(torch::zeros(2), world.rank(), "the weights"); }, options);
    CHECK_THAT(message_of(errors[0]), ContainsSubstring("rank 1: broadcast (from rank 1) of the weights"));
  }
  SECTION("among some of the ranks") {
    const auto errors = try_on_ranks(
        3,
        [](World& world) {
          if (world.rank() == 0) return;
          const auto pair = world.group({1, 2});
          pair->all_reduce(torch::zeros(world.rank()), Reduction::sum, "the gradients");
        },
        options);
    for (const int rank : {1, 2})
      CHECK_THAT(message_of(errors[static_cast<std::size_t>(rank)]),
                 ContainsSubstring("rank 1: all_reduce (sum) of the gradients: float [1]; rank 2: "
                                   "all_reduce (sum) of the gradients: float [2]"));
  }
}

TEST_CASE("call check: a rank that fails is not waited for until the timeout") {
  const auto errors = try_on_ranks(2,
                                   [](World& world) {
                                     if (world.rank() == 1) throw std::runtime_error("no such file");
                                     world.all_reduce(torch::zeros(1), Reduction::sum, "the gradients");
                                   },
                                   {.timeout = 1h, .check_collectives = true});
  CHECK_THAT(message_of(errors[0]), ContainsSubstring("rank 1") && ContainsSubstring("no such file"));
}

TEST_CASE("call check: two ranks that exchange something are compared") {
  const GroupOptions options{.timeout = 5s, .check_collectives = true};
  const auto errors_of = [&](const std::function<void(World&)>& work) {
    return try_on_ranks(2, work, options);
  };
  SECTION("nothing differs") {
    on_ranks(
        3,
        [](World& world) {
          for (int round = 0; round < 4; ++round) {
            if (world.rank() < 2) world.exchange(torch::ones(2), torch::empty(2), 1 - world.rank(), "a test");
            if (world.rank() == 1) continue;
            if (world.rank() == 2) world.send(torch::ones(3), 0, "a test");
            if (world.rank() != 0) continue;
            const torch::Tensor received = torch::zeros(3);
            world.receive(received, 2, "a test");
            require(received.eq(1).all().item<bool>(), "a tensor");
          }
        },
        options);
  }
  SECTION("shapes") {
    const auto errors = errors_of([](World& world) {
      const torch::Tensor tensor = torch::zeros(world.rank() + 2);
      world.rank() == 0 ? world.send(tensor, 1, "the weights") : world.receive(tensor, 0, "the weights");
    });
    for (const auto& error : errors)
      CHECK_THAT(message_of(error),
                 ContainsSubstring("rank 0: transfer of the weights from rank 0 to rank 1: float [2]; rank "
                                   "1: transfer of the weights from rank 0 to rank 1: float [3]"));
  }
  SECTION("order") {
    const auto errors = errors_of([](World& world) {
      const torch::Tensor tensor = torch::zeros(2);
      for (const char* what : {"one", "two"})
        world.rank() == 0 ? world.send(tensor, 1, what)
                          : world.receive(tensor, 0, what[0] == 'o' ? "two" : "one");
    });
    CHECK_THAT(message_of(errors[1]), ContainsSubstring("(call 0): rank 0: transfer of one from rank 0") &&
                                          ContainsSubstring("rank 1: transfer of two from rank 0"));
  }
  SECTION("direction") {
    const auto errors =
        errors_of([](World& world) { world.receive(torch::zeros(2), 1 - world.rank(), "the weights"); });
    CHECK_THAT(message_of(errors[0]),
               ContainsSubstring("rank 0: transfer of the weights from rank 1 to rank 0"));
  }
  SECTION("what is exchanged, in either direction") {
    const auto errors = errors_of([](World& world) {
      world.exchange(torch::zeros(2), torch::zeros(world.rank() == 0 ? 3 : 2), 1 - world.rank(), "sums");
    });
    CHECK_THAT(message_of(errors[0]),
               ContainsSubstring("rank 0: exchange: transfer of sums from rank 0 to rank 1: float [2], "
                                 "transfer of sums from rank 1 to rank 0: float [3]"));
  }
  SECTION("the peer") {
    const auto errors = try_on_ranks(3,
                                     [](World& world) {
                                       if (world.rank() == 0) world.send(torch::zeros(2), 1, "the weights");
                                       if (world.rank() == 1)
                                         world.receive(torch::zeros(2), 2, "the weights");
                                     },
                                     {.timeout = 4s, .check_collectives = true});
    // Rank 2 waits for both others at the end of the test, and may be noticed first.
    CHECK_THAT(message_of(errors[0]),
               ContainsSubstring("Rank 0 stopped in send of the weights to rank 1") &&
                   (ContainsSubstring("(last exchange: receive of the weights from rank 2)") ||
                    ContainsSubstring("of a barrier (the end of the test))")));
  }
}
