#include "runner/accelerator/launch.hpp"

#include <torch/cuda.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <stdexcept>

#include "registry/base/log.hpp"
#include "runner/accelerator/accelerator_impl.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/process/failure.hpp"
#include "runner/process/processes.hpp"
#include "runner/ranks/join.hpp"
#include "runner/ranks/launch/launch_ranks.hpp"
#include "runner/ranks/run_rank.hpp"

namespace runner {

namespace {

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (words.empty()) throw std::runtime_error("launch() needs /proc, to start this program again");
  words.front() = own_program();
  return words;
}

}  // namespace

int launch(const std::function<void(World&)>& function, int ranks, const Connections& connections) {
  if (ranks < 1) throw std::invalid_argument("launch() needs at least one rank");
  show_no_stack_frames();
  const DistributedOptions distributed{.timeout = connections.timeout,
                                       .backend = connections.backend,
                                       .check_collectives = connections.check_collectives};
  require_valid(distributed, Registry::of_linked());
  const Environment environment = process_environment();
  const auto gpus = static_cast<int>(torch::cuda::device_count());
  if (const auto member = membership(environment)) {
    const int code = run_rank(
        *member, join_options(distributed, "auto", member->place),
        [&](World& world) {
          apply(ProcessSettings{.local_ranks = world.local_size()});
          function(world);
          return EXIT_SUCCESS;
        },
        std::cerr);
    std::exit(code);  // what follows launch() is for the process that started the ranks
  }
  if (ranks == 1) {
    warn_and_steer_around_broken_instructions();
    try {
      World world;
      function(world);
      return EXIT_SUCCESS;
    } catch (const std::exception& error) {
      std::cerr << "runner: error: " << failure_text(error) << "\n";
    } catch (...) {
      std::cerr << "runner: error: " << unknown_failure_text() << "\n";
    }
    return EXIT_FAILURE;
  }
  join_options(distributed, "auto", {0, ranks, 0, ranks});  // throws what every rank would throw
  LaunchOptions options;
  options.command = own_command();
  options.environment = environment;
  options.ranks = ranks;
  options.timeout = timeout_of(distributed);
  if (gpus >= ranks) {
    options.gpus.resize(static_cast<std::size_t>(ranks));
    std::iota(options.gpus.begin(), options.gpus.end(), 0);
  }
  return launch_ranks(std::move(options), std::cerr);
}

}  // namespace runner
