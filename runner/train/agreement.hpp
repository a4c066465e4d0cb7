#pragma once

#include <optional>
#include <vector>

#include "components/contract/requests.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// What comes from outside, to any rank and at any time.
struct Events {
  int signal = 0;           // that asks the process to stop; 0: none
  bool checkpoint = false;  // one is requested, or the clock says that it is due
  double seconds = 0;       // of the run: the clock of rank 0
};

// Events as numbers. Their sums over all ranks tell what any rank has seen, and events_from() reads them.
std::vector<double> event_numbers(const Events& own, const World& world);
Events events_from(const std::vector<double>& sums);

// What hooks ask of an update.
struct UpdateRequests {
  bool skip = false;
  std::optional<double> learning_rate = {};
};

UpdateRequests take_update_requests(Requests& requests);
void put_back(const UpdateRequests& taken, Requests& requests);

// What ranks do next, all of them at the same step.
struct Agreement {
  Events events = {};
  bool stop = false;           // a hook asks for it
  UpdateRequests update = {};  // of the next update
};

// All ranks do what any of them wants: of each number, the largest counts. Every rank calls it.
Agreement agree(const Agreement& own, World& world);

}  // namespace runner
