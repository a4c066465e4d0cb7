#pragma once

#include <optional>
#include <string>
#include <vector>

namespace runner {

// What a machine can do in the next attempt.
struct Offer {
  int ranks = 0;  // that it starts, unless it is asked for fewer or more
  int most = 0;   // that it has room for: also those that have failed
};

// How many ranks each machine starts in an attempt, in the order of the machines. Their numbers follow the
// same order.
struct Roster {
  std::vector<int> ranks;

  int size() const;
  int first_rank(int machine) const;
};

// What a run needs.
struct RosterRules {
  std::optional<int> fewest;  // elastic: machines and ranks may be missing, but this many ranks are needed
  int most = 0;               // elastic: ranks in all
  bool power_of_two = false;
};

// As many ranks as the machines offer, or the fewest that the run needs: a rank that failed may do better
// next time. Nothing where the run cannot continue with these machines. The first machine always has a rank:
// it serves the store.
std::optional<Roster> decide(const std::vector<std::optional<Offer>>& offers, const RosterRules& rules);

std::string to_text(const Roster& roster);
Roster parse_roster(const std::string& text);

}  // namespace runner
