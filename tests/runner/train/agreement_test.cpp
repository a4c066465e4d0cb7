#include "runner/train/agreement.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;

TEST_CASE("agreement: what one rank wants, all ranks do", "[ranks]") {
  const std::vector<Agreement> wishes{
      {.events = {.seconds = 7}},
      {.events = {.checkpoint = true, .seconds = 9}, .update = {.skip = true}},
      {.events = {.signal = 15, .seconds = 3}}};
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
    CHECK(agreed[rank].events.signal == 15);
    CHECK(agreed[rank].events.checkpoint);
    CHECK(agreed[rank].events.seconds == 7);  // of rank 0
    CHECK(agreed[rank].update.skip);
    CHECK_FALSE(agreed[rank].update.learning_rate);
    CHECK(rate[rank].stop);
    CHECK(rate[rank].update.learning_rate == 0.0);
    CHECK_FALSE(rate[rank].update.skip);
    CHECK(nothing[rank].events.signal == 0);
    CHECK_FALSE(nothing[rank].events.checkpoint);
    CHECK_FALSE(nothing[rank].update.skip);
    CHECK_FALSE(nothing[rank].update.learning_rate);
  }
}

TEST_CASE("agreement: parameters that are frozen on some ranks only are refused on all", "[ranks]") {
  const double frozen = with_request(0, {"fc1*", false, "hook"}),
               again = with_request(frozen, {"fc1*", true, "hook"});
  CHECK(frozen != 0);
  CHECK(again != frozen);
  on_ranks(2, [&](World& world) {
    require(agree({.trainability = frozen}, world).trainability == frozen, "the same on both");
    std::string said;
    try {
      agree({.trainability = world.is_main() ? frozen : again}, world);
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    require(said.find("different parameters") != std::string::npos, said);
  });
}

TEST_CASE("agreement: the sums over all ranks tell what came to any of them", "[ranks]") {
  const std::vector<Events> seen{
      {.seconds = 7}, {.checkpoint = true, .seconds = 9}, {.signal = 15, .seconds = 3}};
  on_ranks(3, [&](World& world) {
    std::vector<double> sums = event_numbers(seen[static_cast<std::size_t>(world.rank())], world);
    const auto size = static_cast<std::int64_t>(sums.size());
    world.all_reduce(torch::from_blob(sums.data(), {size}, torch::kFloat64), Reduction::sum, "events");
    const Events events = events_from(sums);
    if (events.signal != 15 || !events.checkpoint || events.seconds != 7)
      throw std::runtime_error("the sums tell something else");
    const Events nothing = events_from(event_numbers({}, world));
    if (nothing.signal != 0 || nothing.checkpoint) throw std::runtime_error("nothing has happened");
  });
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
