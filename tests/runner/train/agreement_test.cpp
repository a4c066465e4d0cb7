#include "runner/train/agreement.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;

TEST_CASE("agreement: what one rank wants, all ranks do", "[ranks]") {
  const std::vector<Agreement> wishes{
      {.seconds = 7}, {.checkpoint = true, .update = {.skip = true}}, {.signal = 15, .seconds = 3}};
  std::vector<Agreement> agreed(3), rate(3), nothing(3);
  on_ranks(3, [&](World& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    agreed[rank] = agree(wishes[rank], world);
    rate[rank] =
        agree({.stop = rank == 0, .update = {.learning_rate = rank == 2 ? std::optional(0.0) : std::nullopt}},
              world);
    nothing[rank] = agree({}, world);
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    INFO("rank " << rank);
    CHECK_FALSE(agreed[rank].stop);
    CHECK(agreed[rank].signal == 15);
    CHECK(agreed[rank].checkpoint);
    CHECK(agreed[rank].seconds == 7);
    CHECK(agreed[rank].update.skip);
    CHECK_FALSE(agreed[rank].update.learning_rate);
    CHECK(rate[rank].stop);
    CHECK(rate[rank].update.learning_rate == 0.0);
    CHECK_FALSE(rate[rank].update.skip);
    CHECK(nothing[rank].signal == 0);
    CHECK_FALSE(nothing[rank].checkpoint);
    CHECK_FALSE(nothing[rank].update.skip);
    CHECK_FALSE(nothing[rank].update.learning_rate);
  }
}

TEST_CASE("agreement: requests that wait for the next update are put back unchanged") {
  Requests requests;
  requests.skip_update();
  requests.learning_rate(0.5);
  const UpdateRequests taken = take_update_requests(requests);
  CHECK(taken.skip);
  CHECK(taken.learning_rate == 0.5);
  const UpdateRequests none = take_update_requests(requests);
  CHECK_FALSE(none.skip);
  CHECK_FALSE(none.learning_rate);
  put_back(none, requests);
  CHECK_FALSE(take_update_requests(requests).skip);
  put_back(taken, requests);
  CHECK(take_update_requests(requests).learning_rate == 0.5);
}
