#include "runner/ranks/run_rank.hpp"

#include <cstdlib>
#include <ostream>
#include <stdexcept>

#include "components/torch/torch_error.hpp"
#include "registry/base/log.hpp"
#include "registry/build_scope.hpp"
#include "registry/recipe_error.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/process/exit_codes.hpp"
#include "runner/process/input_error.hpp"

namespace runner {

int run_rank(const Membership& member, const JoinOptions& options, const std::function<int(World&)>& work,
             std::ostream& messages) {
  warn_and_steer_around_broken_instructions();
  std::unique_ptr<World> world;
  try {
    world = join_world(member, options);
    const int code = work(*world);
    world->wait_for_all("the end of the run");  // rank 0 may take its time to save and to upload
    world->barrier("the end of the run");       // the store is gone once rank 0 has left
    return code;
  } catch (const std::exception& error) {
    const auto* const mistake = dynamic_cast<const RecipeError*>(&error);
    if (mistake) {
      messages << render(diagnostic_of(*mistake)) << std::flush;
    } else {
      messages << "runner: error: " << reason_of(error) << "\n" << std::flush;
    }
    if (world) world->failed(error);
    // Threads of the process group may still wait for a rank that does not answer: they are not joined.
    std::_Exit(mistake || dynamic_cast<const InputError*>(&error) ? Exit::bad_input : Exit::failed);
  } catch (...) {
    const std::runtime_error error(thrown_type() + ", which is not a std::exception, ended this rank");
    messages << "runner: error: " << error.what() << "\n" << std::flush;
    if (world) world->failed(error);
    std::_Exit(Exit::failed);
  }
}

}  // namespace runner
