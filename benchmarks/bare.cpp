// The limit: a loop written by hand for one purpose, with everything that is known to be fast and nothing
// else. The data lies in memory as one tensor, nothing is checked, logged or evaluated.
//   benchmark_bare MODEL BATCH STEPS THREADS DATA      prints JSON
#include <ATen/Parallel.h>

#include "benchmarks/bare_work.hpp"
#include "runner/engine/runtime/process.hpp"

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: benchmark_bare MODEL BATCH STEPS THREADS DATA\n";
    return 2;
  }
  runner::keep_freed_memory();
  at::set_num_threads(std::atoi(argv[4]));
  runner::BareTraining training(argv[1], argv[5]);
  runner::time_steps(std::atoll(argv[3]), true, [&] {
    training.loss_of_some(std::atoll(argv[2])).backward();
    training.optimizer->step(1.0);
    for (auto& parameter : training.parameters) parameter.mutable_grad().reset();
  });
}
