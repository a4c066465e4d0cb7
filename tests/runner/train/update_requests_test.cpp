#include "runner/train/update_requests.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;

TEST_CASE("requests: what a hook asks of one rank's update, all ranks do") {
  std::vector<UpdateRequests> skipped(3), changed(3), quiet(3);
  on_ranks(3, [&](World& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    Requests requests;
    if (rank == 1) requests.skip_update();
    skipped[rank] = take_together(requests, world);
    if (rank == 2) requests.learning_rate(0.0);
    changed[rank] = take_together(requests, world);
    quiet[rank] = take_together(requests, world);
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    INFO("rank " << rank);
    CHECK(skipped[rank].skip);
    CHECK_FALSE(skipped[rank].learning_rate);
    CHECK_FALSE(changed[rank].skip);
    CHECK(changed[rank].learning_rate == 0.0);
    CHECK_FALSE(quiet[rank].skip);
    CHECK_FALSE(quiet[rank].learning_rate);
  }
}

TEST_CASE("requests: a single process takes its own") {
  World alone;
  Requests requests;
  requests.skip_update();
  requests.learning_rate(0.5);
  const UpdateRequests taken = take_together(requests, alone);
  CHECK(taken.skip);
  CHECK(taken.learning_rate == 0.5);
  CHECK_FALSE(take_together(requests, alone).skip);
}
