#pragma once

#include <string>
#include <string_view>

#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/contract/state.hpp"

namespace runner {

// The sums from which regression metrics are computed, one for each number of a target, in double, so that
// the batch size does not matter. In the units of the data, even if the targets were standardised.
class Errors {
 public:
  Errors(std::string_view metric, const DataSpec& data)
      : metric_(metric), target_mean_(data.target_mean), target_deviation_(data.target_deviation) {}

  void reset();
  void add(const torch::Tensor& output, const torch::Tensor& target);

  State state() const;
  void merge(const State& other);

  double examples() const { return examples_; }
  // For each number of a target; undefined before the first batch.
  const torch::Tensor& absolute() const { return absolute_; }    // sum of |output - target|
  const torch::Tensor& squared() const { return squared_; }      // sum of (output - target)²
  const torch::Tensor& deviation() const { return deviation_; }  // sum of (target - mean of the targets)²

 private:
  torch::Tensor in_units(const torch::Tensor& values) const;
  void combine(double examples, const torch::Tensor& absolute, const torch::Tensor& squared,
               const torch::Tensor& deviation, const torch::Tensor& mean);

  std::string metric_;
  double target_mean_, target_deviation_;
  double examples_ = 0;
  torch::Tensor absolute_, squared_, deviation_, mean_;
};

}  // namespace runner
