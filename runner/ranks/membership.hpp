#pragma once

#include <map>
#include <optional>
#include <string>

#include "runner/engine/world.hpp"
#include "runner/ranks/socket.hpp"

namespace runner {

using Environment = std::map<std::string, std::string>;
Environment process_environment();

// What this process knows from its launcher, through the environment, about the ranks it belongs to.
struct Membership {
  enum class Launcher { runner, torchrun, mpirun, srun, environment };

  Launcher launcher = Launcher::runner;
  Place place;
  int restart = 0;              // how often the ranks have been started again
  std::string job = {};         // distinguishes jobs on the same machine
  std::optional<Address> meet;  // where the store is, or will be
  bool serves_store = false;    // the launcher has no store of its own: this is rank 0, which starts one
  std::optional<int> secret_descriptor = {};
  std::optional<std::string> secret_file = {};

  bool on_one_machine() const { return place.local_size == place.size; }
};

// The environment variables that this program's own launcher sets.
namespace variable {
constexpr auto rank = "RUNNER_RANK", size = "RUNNER_WORLD_SIZE", local_rank = "RUNNER_LOCAL_RANK",
               local_size = "RUNNER_LOCAL_SIZE", restart = "RUNNER_RESTART", store = "RUNNER_STORE",
               secret_descriptor = "RUNNER_SECRET_FD", secret_file = "RUNNER_SECRET_FILE";
}  // namespace variable

// Nothing if no launcher started this process, or if it is the only rank of another launcher than `runner
// launch`. Throws std::runtime_error if a launcher's variables are incomplete or make no sense.
std::optional<Membership> membership(const Environment& environment);

// The environment of a process that is to belong to no rank, although a launcher may have started this one.
Environment without_membership(Environment environment);

}  // namespace runner
