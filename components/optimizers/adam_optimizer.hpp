#pragma once

#include <string>
#include <vector>

#include "components/optimizers/fused_optimizer.hpp"

namespace runner {

// Kingma and Ba 2015; with decoupled weight decay, Loshchilov and Hutter 2019.
//   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g²,
//   weight -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
class AdamOptimizer final : public FusedOptimizer {
 public:
  struct Settings {
    double lr = 0;
    std::vector<double> betas = {};
    double eps = 0;
    double weight_decay = 0;
    bool amsgrad = false;
    bool decoupled = false;
  };

  AdamOptimizer(const Settings& settings, const OptimizerInputs& inputs);

 private:
  void update(const Lists& shaped, double lr, double weight_decay) override;

  Settings settings_;
};

// Reports an error unless there are two betas; for a component's `check`.
void check_betas(const std::vector<double>& betas, Report& report, const char* key = "betas");

}  // namespace runner
