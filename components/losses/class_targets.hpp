#pragma once

#include <string>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// Common to losses over classes: outputs are [examples, classes, ..]; targets are labels [examples, ..], of
// which some may be ignored; each class may have its own weight.
class ClassTargets {
 public:
  struct Settings {
    std::string loss;          // its name, for messages
    std::int64_t classes = 0;  // of the data; 0: unknown
    std::int64_t ignore_index = -100;
    std::vector<double> weights = {};  // none: all classes count the same
    std::string weights_key = "class_weights";
  };

  explicit ClassTargets(Settings settings);

  // Throws if shapes, labels or the number of weights do not fit. Targets may also be class shares in the
  // shape of the outputs, if the loss allows it.
  void require_fitting(const torch::Tensor& output, const torch::Tensor& target, bool shares_allowed) const;

  torch::Tensor weights_like(const torch::Tensor& scores) const;  // undefined: all classes count the same
  double counted(const torch::Tensor& labels) const;              // the number that is not ignored
  double weight(const torch::Tensor& target) const;               // the sum of the weights of all targets

  std::int64_t ignore_index() const { return settings_.ignore_index; }

 private:
  void require_known(const torch::Tensor& labels, std::int64_t classes) const;

  Settings settings_;
  torch::Tensor weights_;                 // undefined: all classes count the same
  mutable torch::Tensor placed_weights_;  // the same as the last scores were: on their device, of their type
};

// Whether targets are class labels, not shares of all classes.
inline bool are_labels(const torch::Tensor& target) { return !target.is_floating_point(); }

// Sums and exponentials in 16 bits are too inaccurate for a loss.
inline torch::Tensor at_least_32_bits(const torch::Tensor& output) {
  return output.element_size() < 4 ? output.to(torch::kFloat32) : output;
}

}  // namespace runner
