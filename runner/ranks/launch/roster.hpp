#pragma once

#include <optional>
#include <string>
#include <vector>

namespace runner {

// How many ranks a machine offers for the next attempt.
struct Offer {
  int ranks = 0;  // that it starts by default
  int most = 0;   // that it has room for, including those that have failed
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

// Uses as many ranks as the machines offer, or more if the run needs them: a rank that failed may work next
// time. Nothing if the run cannot continue with these machines. The first machine always has a rank, because
// it serves the store.
std::optional<Roster> decide(const std::vector<std::optional<Offer>>& offers, const RosterRules& rules);

std::string to_text(const Roster& roster);
Roster parse_roster(const std::string& text);

}  // namespace runner
