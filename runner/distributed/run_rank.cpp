#include "runner/distributed/run_rank.hpp"

#include <cstdlib>
#include <ostream>

#include "components/support/torch_error.hpp"
#include "registry/log.hpp"
#include "runner/engine/process.hpp"

namespace runner {

int run_rank(const Membership& member, const JoinOptions& options, const std::function<int(World&)>& work,
             std::ostream& messages) {
  warn_and_steer_around_broken_instructions();
  std::unique_ptr<World> world;
  try {
    world = join_world(member, options);
    const int code = work(*world);
    world->barrier("the end of the run");
    return code;
  } catch (const std::exception& error) {
    messages << "runner: error: " << reason_of(error) << "\n" << std::flush;
    if (world) world->failed(error);
    // Threads of the process group may still wait for a rank that does not answer: they are not joined.
    std::_Exit(EXIT_FAILURE);
  }
}

}  // namespace runner
