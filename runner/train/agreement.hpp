#pragma once

#include <optional>

#include "components/contract/requests.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// What hooks ask of an update.
struct UpdateRequests {
  bool skip = false;
  std::optional<double> learning_rate = {};
};

UpdateRequests take_update_requests(Requests& requests);
void put_back(const UpdateRequests& taken, Requests& requests);

// What ranks tell each other after every update.
struct Agreement {
  bool stop = false;           // a hook asks for it
  int signal = 0;              // that asks the process to stop; 0: none
  bool checkpoint = false;     // one is due, or requested
  double seconds = 0;          // of the run: all ranks use the same clock
  UpdateRequests update = {};  // of the next update
};

// All ranks do what any of them wants, at the same step: of each number, the largest counts. Every rank calls
// it.
Agreement agree(const Agreement& own, World& world);

}  // namespace runner
