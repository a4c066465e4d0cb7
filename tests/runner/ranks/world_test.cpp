#include <torch/types.h>

#include <array>
#include <atomic>
#include <catch2/catch_all.hpp>

#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

torch::Tensor numbers(const std::vector<float>& values) { return torch::tensor(values); }

}  // namespace

TEST_CASE("world: a single process does everything alone, and copies nothing") {
  World world;
  const torch::Tensor tensor = numbers({1, 2, 3});
  world.all_reduce(tensor, Reduction::sum, "a test");
  CHECK(torch::equal(tensor, numbers({1, 2, 3})));
  world.all_gather(tensor, tensor, "a test");
  CHECK(world.gather(tensor, "a test").front().data_ptr() == tensor.data_ptr());
  CHECK(world.gather_rows(tensor, "a test").data_ptr() == tensor.data_ptr());
  const torch::Tensor part = torch::empty(3);
  world.reduce_scatter(part, tensor, "a test");
  CHECK(torch::equal(part, tensor));
  CHECK(world.broadcast_text("text", 0, "a test") == "text");
  CHECK(world.all_reduce(2.5, Reduction::max, "a test") == 2.5);
  bool done = false;
  world.once(World::Once::in_the_world, "a test", [&] { done = true; });
  CHECK(done);
  CHECK_THROWS_AS(world.send(tensor, 1, "a test"), std::logic_error);
}

TEST_CASE("world: collectives of several ranks") {
  const int size = GENERATE(2, 3, 4);
  on_ranks(size, [size](World& world) {
    const auto own = static_cast<float>(world.rank() + 1);
    const float sum = static_cast<float>(size * (size + 1)) / 2;
    const auto reduced = [&](Reduction reduction) {
      const torch::Tensor tensor = numbers({own, -own});
      world.all_reduce(tensor, reduction, "a test");
      return tensor;
    };
    require(torch::equal(reduced(Reduction::sum), numbers({sum, -sum})), "sum");
    require(torch::equal(reduced(Reduction::min), numbers({1, static_cast<float>(-size)})), "min");
    require(torch::equal(reduced(Reduction::max), numbers({static_cast<float>(size), -1})), "max");

    const torch::Tensor all = torch::empty({size, 2});
    world.all_gather(all, numbers({own, 10 * own}), "a test");
    const torch::Tensor ranks = torch::arange(1, size + 1, torch::kFloat);
    require(torch::equal(all, torch::stack({ranks, 10 * ranks}, 1)), "all_gather");

    const torch::Tensor part = torch::empty(2);
    world.reduce_scatter(part, torch::arange(2 * size, torch::kFloat) * own, "a test");
    require(torch::equal(
                part, torch::tensor({2.F, 2.F}) * static_cast<float>(world.rank()) * sum + numbers({0, sum})),
            "reduce_scatter");

    const torch::Tensor said = numbers({own});
    world.broadcast(said, size - 1, "a test");
    require(said.item<float>() == static_cast<float>(size), "broadcast");

    // Each rank has as many rows as its number: the first has none.
    const torch::Tensor rows = torch::full({world.rank(), 3}, own);
    const torch::Tensor joined = world.gather_rows(rows, "a test");
    require(joined.size(0) == size * (size - 1) / 2, "gather_rows, the size");
    require(
        joined.sum().item<float>() ==
            [&] {
              float total = 0;
              for (int rank = 0; rank < size; ++rank) total += static_cast<float>(3 * rank * (rank + 1));
              return total;
            }(),
        "gather_rows, the values");

    require(world.broadcast_text(world.is_main() ? "from 0" : "", 0, "a test") == "from 0", "broadcast_text");
    const auto texts = world.gather_texts(std::string(static_cast<std::size_t>(world.rank()), 'x'), "a test");
    for (int rank = 0; rank < size; ++rank)
      require(texts[static_cast<std::size_t>(rank)].size() == static_cast<std::size_t>(rank), "gather_texts");
    require(world.any(world.rank() == size - 1, "a test"), "any");
    require(!world.any(false, "a test"), "not any");

    const int peer = world.rank() ^ 1;
    if (peer < size) {
      const torch::Tensor in = torch::empty(1);
      world.exchange(numbers({own}), in, peer, "a test");
      require(in.item<float>() == static_cast<float>(peer + 1), "exchange");
      if (world.rank() < peer)
        world.send(numbers({7}), peer, "a test");
      else
        world.receive(in, peer, "a test");
      require(world.rank() < peer || in.item<float>() == 7, "send and receive");
    }
  });
}

TEST_CASE("world: several collectives may be under way") {
  on_ranks(2, [](World& world) {
    std::vector<torch::Tensor> tensors;
    std::vector<Work> works;
    for (int i = 0; i < 20; ++i) {
      tensors.push_back(torch::full(10000, static_cast<float>(i)));
      works.push_back(world.begin_all_reduce(tensors.back(), Reduction::sum, "a test"));
    }
    for (Work& work : works) work.wait();
    for (int i = 0; i < 20; ++i)
      require(tensors[static_cast<std::size_t>(i)][77].item<float>() == 2 * static_cast<float>(i), "a sum");
  });
}

TEST_CASE("world: what is done once is done by one, before the others go on") {
  std::atomic<int> done = 0, machines = 0;
  on_ranks(3, [&](World& world) {
    world.once(World::Once::in_the_world, "a download", [&] { ++done; });
    require(done == 1, "the others came before it was done");
    world.once(World::Once::on_each_machine, "a cache", [&] { ++machines; });
    require(machines == 1, "once on each machine");
  });
  CHECK(done == 1);
}

TEST_CASE("world: what is done once may take longer than the timeout, and so may the way to wait_for_all") {
  std::atomic<int> finished = 0;
  on_ranks(3,
           [&](World& world) {
             constexpr auto long_work = 1500ms;
             world.once(World::Once::in_the_world, "a download",
                        [&] { std::this_thread::sleep_for(long_work); });
             if (world.rank() == 1) std::this_thread::sleep_for(long_work);
             ++finished;
             world.wait_for_all("a test");
             require(finished == 3, "a rank did not wait for the others");
             world.wait_for_all("another test");
           },
           {.timeout = 500ms});
}

TEST_CASE("world: while ranks wait for all, one that fails is named at once") {
  const auto errors = try_on_ranks(3, [](World& world) {
    world.barrier("a test");
    if (world.rank() == 2) throw std::runtime_error("the file is broken");
    world.wait_for_all("the data");
  });
  CHECK_THAT(message_of(errors[0]),
             ContainsSubstring("waited for the data: rank 2") && ContainsSubstring("the file is broken"));
  CHECK_THAT(message_of(errors[1]), ContainsSubstring("rank 2") && ContainsSubstring("the file is broken"));
}

TEST_CASE("world: each machine does for itself what is done once, also where host names are the same") {
  std::atomic<bool> first_is_done = false, second_has_gone_on = false;
  std::array<std::exception_ptr, 4> errors;
  const StoreServer server(listen_on({"127.0.0.1", 0}), run_secret);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const std::string machine = rank < 2 ? "first" : "second";
        ProcessGroupWorld world(
            c10::make_intrusive<StoreClient>(Address{"127.0.0.1", server.port()}, run_secret, 30s),
            {rank, 4, rank % 2, 2, "clone", machine}, {.timeout = 30s});
        world.once(World::Once::on_each_machine, "a cache", [&] {
          if (rank != 0) return;
          second_has_gone_on.wait(false);      // the other machine is faster
          std::this_thread::sleep_for(700ms);  // by more than a rank waits between two looks
          first_is_done = true;
        });
        if (rank == 1) require(first_is_done, "a rank that did not wait for its own machine");
        if (rank == 3) {
          second_has_gone_on = true;
          second_has_gone_on.notify_all();
        }
        world.barrier("the end of the test");
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  threads.clear();
  for (const std::exception_ptr& error : errors) CHECK(message_of(error) == "");
}

TEST_CASE("world: where the one that does it fails, all fail and say why") {
  const auto errors = try_on_ranks(3, [](World& world) {
    world.once(World::Once::in_the_world, "a download", [] { throw std::runtime_error("no such server"); });
  });
  CHECK(message_of(errors[0]) == "no such server");
  CHECK_THAT(message_of(errors[1]), ContainsSubstring("waited for a download") &&
                                        ContainsSubstring("rank 0") && ContainsSubstring("no such server"));
}

TEST_CASE("world: a rank that throws is named by the others, with its reason") {
  const auto errors = try_on_ranks(3,
                                   [](World& world) {
                                     world.reached(12);
                                     if (world.rank() == 2) throw std::runtime_error("the disk is full");
                                     world.all_reduce(torch::zeros(1), Reduction::sum, "the gradients");
                                   },
                                   {.timeout = 2s});
  for (const int rank : {0, 1}) {
    const std::string message = message_of(errors[static_cast<std::size_t>(rank)]);
    CHECK_THAT(message, ContainsSubstring("rank 2") && ContainsSubstring("the disk is full") &&
                            ContainsSubstring("step 12") &&
                            ContainsSubstring("all_reduce (sum) of the gradients"));
  }
}

TEST_CASE("world: a rank that comes too late is named, and what it does instead") {
  const auto errors = try_on_ranks(3,
                                   [](World& world) {
                                     if (world.rank() == 1) {
                                       world.once(World::Once::on_each_machine, "an endless wait",
                                                  [] {});  // waits for a rank 0 that never comes
                                     } else {
                                       world.all_reduce(torch::zeros(1), Reduction::sum, "the gradients");
                                     }
                                   },
                                   {.timeout = 1s});
  CHECK_THAT(message_of(errors[0]), ContainsSubstring("rank 1") && ContainsSubstring("an endless wait"));
}

TEST_CASE("world: ranks that never start are named") {
  const StoreServer server(listen_on({"127.0.0.1", 0}), run_secret);
  CHECK_THROWS_WITH(
      ProcessGroupWorld(c10::make_intrusive<StoreClient>(Address{"127.0.0.1", server.port()}, run_secret, 5s),
                        {0, 3, 0, 3, "here"}, {.timeout = 300ms}),
      ContainsSubstring("Ranks 1, 2 of 3 did not start"));
}

TEST_CASE("world: some of the ranks exchange among themselves") {
  on_ranks(4, [](World& world) {
    const int first = world.rank() / 2 * 2;
    const auto pair = world.group({first, first + 1});
    require(pair->size() == 2 && pair->rank() == world.rank() - first, "places");
    const torch::Tensor sum = torch::full({1}, static_cast<float>(world.rank()));
    pair->all_reduce(sum, Reduction::sum, "a test");
    require(sum.item<float>() == static_cast<float>(2 * first + 1), "the sum of a pair");
    require(world.group({world.rank()})->alone(), "one of them");
    world.all_reduce(sum, Reduction::sum, "a test");
    require(sum.item<float>() == 12, "the sum of all");
  });
}

TEST_CASE("world: the same ranks may make several groups, whose calls are compared apart") {
  GroupOptions options;
  options.check_collectives = true;
  const auto work = [](World& world) {
    const auto one = world.group({0, 1}), other = world.group({0, 1});
    const torch::Tensor first = torch::ones({2}), second = torch::ones({2});
    const torch::Tensor in = torch::empty({2});
    one->all_reduce(first, Reduction::sum, "the first");
    world.exchange(first, in, 1 - world.rank(), "a pair");
    other->all_reduce(second, Reduction::max, "the second");
    world.all_reduce(second, Reduction::sum, "all");
    require(first[0].item<double>() == 2 && in[0].item<double>() == 2 && second[0].item<double>() == 2,
            "sums");
  };
  on_ranks(2, work, options);
}
