#pragma once

#include <optional>
#include <vector>

#include "components/contract/requests.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Events from outside, which may reach any rank at any time.
struct Events {
  int signal = 0;           // a signal that asks the process to stop; 0: none
  bool checkpoint = false;  // one was requested, or is due by the clock
  double seconds = 0;       // time of the run, by the clock of rank 0
};

// Events as numbers that are summed over all ranks; events_from() converts the sums back.
std::vector<double> event_numbers(const Events& own, const World& world);
Events events_from(const std::vector<double>& sums);

// What hooks request for an update.
struct UpdateRequests {
  bool skip = false;
  std::optional<double> learning_rate = {};
};

UpdateRequests take_update_requests(Requests& requests);
void put_back(const UpdateRequests& taken, Requests& requests);

// What all ranks do next, at the same step.
struct Agreement {
  Events events = {};
  bool stop = false;           // requested by a hook
  UpdateRequests update = {};  // for the next update
  // A checksum of what hooks have asked to freeze and to train so far: the ranks exchange gradients of the
  // same parameters.
  double trainability = 0;
};

// The checksum after one more request.
double with_request(double checksum, const Trainability& request);

// All ranks do what any of them requests: the maximum of each number counts. Every rank calls it. Throws on
// every rank if they do not train the same parameters.
Agreement agree(const Agreement& own, World& world);

}  // namespace runner
