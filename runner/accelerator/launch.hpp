#pragma once

#include <functional>

#include "runner/engine/distributed_options.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// How ranks exchange: the settings of these names in [distributed] of a recipe.
struct Connections {
  Duration timeout = seconds(600);
  Backend backend = Backend::automatic;
  bool check_collectives = false;
};

// Runs the function on several ranks of this machine, from inside a program:
//
//   int main() { return runner::launch(train, 4); }     // void train(runner::World& world)
//
// Each rank is this program, started again with the same arguments: code before launch() runs in every rank,
// code after it only in this process. With one rank the function is called in this process. If torchrun,
// mpirun or srun started the program, it already is one of the ranks, and `ranks` is ignored. Returns the
// exit code of the rank that failed first, otherwise 0; an exception that leaves the function is printed.
// Rank 0 writes to the terminal; the last lines of output of a failed rank are shown.
int launch(const std::function<void(World&)>& function, int ranks, const Connections& connections = {});

}  // namespace runner
