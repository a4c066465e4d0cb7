#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/ranks/membership.hpp"

namespace runner {

struct LaunchOptions {
  std::vector<std::string> command;   // the program's path, and the arguments of each rank
  std::optional<std::string> resume;  // the checkpoint of another run that this one starts from
  Environment environment;
  int ranks = 1;  // on this machine
  int nodes = 1, node = 0;
  std::optional<Address> rendezvous;  // where the first machine serves the store; loopback for one machine
  std::string secret = {};  // shared by all machines; empty: created here, for the ranks of this machine
  std::chrono::milliseconds timeout{600000};  // for machines that start late
  std::vector<int> gpus;  // one for each rank, of those that are visible here; empty: none is assigned
  bool tee = false;
  int max_restarts = 0;
  std::optional<int> fewest_ranks;  // elastic: restarts with the ranks that are left, of all machines
  int most_ranks = 0;               // then: of all machines
  bool power_of_two = false;        // the recipe trains only on such numbers of ranks
};

// Machine 0 cannot serve the run's store where it should.
struct BadRendezvous : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Starts the ranks of this machine, passes signals on to them (SIGUSR1, a request for a checkpoint, to one of
// them) and waits for them. If one fails, reports which was the first and why, ends the others, and restarts
// all of them if max_restarts permits. Returns the exit code: 0, or that of the rank that failed first.
// Throws BadRendezvous.
int launch_ranks(LaunchOptions options, std::ostream& messages);

}  // namespace runner
