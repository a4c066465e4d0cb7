#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runner/distributed/membership.hpp"

namespace runner {

struct LaunchOptions {
  std::vector<std::string> command;  // the program's path, and the arguments of each rank
  Environment environment;
  int ranks = 1;  // on this machine
  int nodes = 1, node = 0;
  std::optional<Address> rendezvous;  // where the first machine serves the store; loopback for one machine
  std::optional<std::filesystem::path> secret_file;
  std::vector<int> gpus;  // one for each rank; empty: none is assigned
  bool tee = false;
  int max_restarts = 0;
  std::optional<int> fewest_ranks;  // elastic: restarts with those that are left, as long as so many are
};

// Starts the ranks of this machine, passes signals on to them and waits for them. When one dies, says which
// was the first and why, ends the others, and starts them again if it may. Returns the exit code: 0, or that
// of the rank that died first.
int launch(LaunchOptions options, std::ostream& messages);

}  // namespace runner
