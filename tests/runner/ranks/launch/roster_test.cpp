#include "runner/ranks/launch/roster.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

using Ranks = std::vector<int>;

std::optional<Ranks> decided(const std::vector<std::optional<Offer>>& offers, const RosterRules& rules) {
  const auto roster = decide(offers, rules);
  return roster ? std::optional(roster->ranks) : std::nullopt;
}

}  // namespace

TEST_CASE("roster: without --elastic every machine starts all of its ranks, or nobody does") {
  CHECK(decided({Offer{4, 4}}, {}) == Ranks{4});
  CHECK(decided({Offer{2, 2}, Offer{3, 3}}, {}) == Ranks{2, 3});
  CHECK(decided({Offer{2, 2}, std::nullopt}, {}) == std::nullopt);
}

TEST_CASE("roster: an elastic run continues with the ranks that are left") {
  CHECK(decided({Offer{3, 4}}, {2, 8}) == Ranks{3});
  CHECK(decided({Offer{2, 2}, Offer{1, 2}}, {2, 8}) == Ranks{2, 1});
  CHECK(decided({Offer{2, 2}, std::nullopt, Offer{1, 2}}, {1, 8}) == Ranks{2, 0, 1});
  CHECK(decided({Offer{2, 2}, Offer{2, 2}}, {1, 3}) == Ranks{2, 1});
  CHECK(decided({Offer{0, 1}, Offer{2, 2}}, {1, 8}) == Ranks{1, 2});  // rank 0 is where the store is
}

TEST_CASE("roster: the fewest ranks are started even if some of them failed before, where there is room") {
  CHECK(decided({Offer{1, 4}}, {3, 8}) == Ranks{3});
  CHECK(decided({Offer{0, 1}, Offer{0, 2}}, {3, 8}) == Ranks{1, 2});
  CHECK(decided({Offer{2, 2}, std::nullopt}, {3, 8}) == std::nullopt);
}

TEST_CASE("roster: a reproducible run has a power of two of ranks, the last machines give up some") {
  CHECK(decided({Offer{3, 4}}, {1, 8, true}) == Ranks{2});
  CHECK(decided({Offer{4, 4}, Offer{3, 4}}, {2, 8, true}) == Ranks{4, 0});
  CHECK(decided({Offer{2, 4}, Offer{3, 4}}, {2, 8, true}) == Ranks{2, 2});
  CHECK(decided({Offer{1, 4}, Offer{2, 4}}, {4, 8, true}) == Ranks{2, 2});
}

TEST_CASE("roster: ranks are numbered in the order of the machines") {
  const Roster roster{{2, 0, 3}};
  CHECK(roster.size() == 5);
  CHECK(roster.first_rank(0) == 0);
  CHECK(roster.first_rank(2) == 2);
  CHECK(parse_roster(to_text(roster)).ranks == roster.ranks);
}
