#pragma once

#include <string>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// What losses over classes share: outputs are [examples, classes, ..]; targets
// are labels [examples, ..], some of them to be ignored, each class with its
// own weight.
class ClassTargets {
 public:
  struct Settings {
    std::string loss;          // its name, for messages
    std::int64_t classes = 0;  // as the data says; 0: unknown
    std::int64_t ignore_index = -100;
    std::vector<double> weights = {};  // none: all classes count the same
    std::string weights_key = "class_weights";
  };

  explicit ClassTargets(Settings settings);

  // Throws where shapes, labels or the number of weights do not fit. Class
  // shares in the outputs' shape are targets too where the loss allows it.
  void require_fitting(const torch::Tensor& output, const torch::Tensor& target, bool shares_allowed) const;

  torch::Tensor weights_like(const torch::Tensor& scores) const;  // undefined: all classes count the same
  double counted(const torch::Tensor& labels) const;              // how many are not to be ignored
  double weight(const torch::Tensor& target) const;               // the sum of the weights of all targets

  std::int64_t ignore_index() const { return settings_.ignore_index; }

 private:
  void require_known(const torch::Tensor& labels, std::int64_t classes) const;

  Settings settings_;
  torch::Tensor weights_;  // undefined: all classes count the same
};

// Targets that name a class, in contrast to shares of all classes.
inline bool are_labels(const torch::Tensor& target) { return !target.is_floating_point(); }

// Sums and exponentials of 16-bit numbers lose what the loss is about.
inline torch::Tensor at_least_32_bits(const torch::Tensor& output) {
  return output.element_size() < 4 ? output.to(torch::kFloat32) : output;
}

}  // namespace runner
