#pragma once

#include <string>
#include <vector>

#include "runner/distributed/membership.hpp"
#include "runner/doctor/finding.hpp"
#include "runner/run_folder/run_folder.hpp"

namespace runner {

// Trains a tiny model in processes of their own, as a user would: whatever kills one of them shows, and kills
// nothing else.
class Trials {
 public:
  explicit Trials(const Environment& environment);

  Finding one_rank();  // first: the others are compared with it
  Finding precision(const std::string& name);
  Finding two_ranks();

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
