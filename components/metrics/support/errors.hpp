#pragma once

#include <string>
#include <string_view>

#include "components/contract/batch.hpp"

namespace runner {

// What regression metrics are made of, for each number of an example by itself, in double: exact for any
// batching.
class Errors {
 public:
  explicit Errors(std::string_view metric) : metric_(metric) {}

  void reset();
  void add(const torch::Tensor& output, const torch::Tensor& target);

  double examples() const { return examples_; }
  // Of each number of an example; undefined before the first batch.
  const torch::Tensor& absolute() const { return absolute_; }    // sum of |output - target|
  const torch::Tensor& squared() const { return squared_; }      // sum of (output - target)²
  const torch::Tensor& deviation() const { return deviation_; }  // sum of (target - mean of the targets)²

 private:
  std::string metric_;
  double examples_ = 0;
  torch::Tensor absolute_, squared_, deviation_, mean_;
};

}  // namespace runner
