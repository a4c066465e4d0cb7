#include "runner/ranks/launch/roster.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>
#include <sstream>

namespace runner {

int Roster::size() const { return std::accumulate(ranks.begin(), ranks.end(), 0); }

int Roster::first_rank(int machine) const {
  return std::accumulate(ranks.begin(), ranks.begin() + machine, 0);
}

std::optional<Roster> decide(const std::vector<std::optional<Offer>>& offers, const RosterRules& rules) {
  Roster roster;
  int room = 0;
  for (const auto& offer : offers) {
    if (!offer && !rules.fewest) return {};
    roster.ranks.push_back(offer ? offer->ranks : 0);
    room += offer ? offer->most : 0;
  }
  if (!rules.fewest) return roster;
  if (room < *rules.fewest) return {};

  roster.ranks.front() = std::max(roster.ranks.front(), 1);
  const int left = roster.size();
  const int usable =
      rules.power_of_two ? static_cast<int>(std::bit_floor(static_cast<unsigned>(left))) : left;
  const int wanted = std::min(std::max(usable, *rules.fewest), rules.most);
  for (std::size_t machine = 0; roster.size() < wanted; ++machine)
    roster.ranks[machine] +=
        std::min(wanted - roster.size(), offers[machine] ? offers[machine]->most - roster.ranks[machine] : 0);
  for (std::size_t machine = offers.size() - 1; roster.size() > wanted; --machine)
    roster.ranks[machine] -= std::min(roster.size() - wanted, roster.ranks[machine]);
  return roster;
}

std::string to_text(const Roster& roster) {
  std::string text;
  for (const int ranks : roster.ranks) text += (text.empty() ? "" : " ") + std::to_string(ranks);
  return text;
}

Roster parse_roster(const std::string& text) {
  std::istringstream in(text);
  return {{std::istream_iterator<int>(in), {}}};
}

}  // namespace runner
