#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/check/checks.hpp"
#include "runner/ranks/membership.hpp"
#include "runner/runs/run_folder.hpp"

namespace runner {

// runner/check/tiny.toml, compiled into the program, so that an installed copy needs no other file.
extern const std::string_view tiny_recipe;

// Trains a tiny model, each time in a process of its own, as a user would: a crash is reported and harms
// nothing else.
class Trials {
 public:
  explicit Trials(const Environment& environment);

  Finding one_rank();  // first: the others are compared with it
  Finding precision(const std::string& name);
  Finding two_ranks();

  // What GPUs do beyond that: kernels against those of the CPU, graphs, every strategy of ranks, speed. Calls
  // `found` after each.
  void on_gpus(const std::function<void(const Finding&)>& found);

 private:
  struct Outcome {
    std::vector<double> losses = {};  // of every step, and of the evaluation
    std::string problem = {}, remedy = {};
  };
  Outcome train(const std::string& name, const std::vector<std::string>& command,
                const std::vector<std::string>& overrides) const;
  Finding compared(std::string what, const Outcome& outcome, const Outcome& expected, double tolerance) const;

  const RunFolder scratch_;
  Environment environment_;
  Outcome reference_;
};

}  // namespace runner
