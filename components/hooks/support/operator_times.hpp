#pragma once

#include <torch/csrc/autograd/profiler_kineto.h>

#include <string>
#include <vector>

namespace runner {

struct OperatorTime {
  std::string name;
  std::int64_t calls = 0;
  double self = 0;   // milliseconds, without the operators it called
  double total = 0;  // with them
};

// By name, the most time of its own first.
std::vector<OperatorTime> operator_times(const std::vector<torch::autograd::profiler::KinetoEvent>& events);

// The first rows of it, for people.
std::string operator_table(const std::vector<OperatorTime>& times, std::size_t rows);

}  // namespace runner
