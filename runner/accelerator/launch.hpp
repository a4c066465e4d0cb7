#pragma once

#include <functional>

#include "runner/engine/world.hpp"

namespace runner {

// Runs the function on so many ranks of this machine, from inside a program:
//
//   int main() { return runner::launch(train, 4); }     // void train(runner::World& world)
//
// Each rank is this program, started again with the same arguments: what stands before launch() runs in every
// rank, what stands after it only here. With one rank the function is called here. Started by torchrun,
// mpirun or srun, the program already is one of the ranks, and `ranks` is theirs. Returns the exit code of
// the rank that failed first, 0 where none did; rank 0 writes to the terminal, and the last lines of the one
// that failed are shown.
int launch(const std::function<void(World&)>& function, int ranks);

}  // namespace runner
