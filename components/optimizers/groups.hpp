#pragma once

#include <torch/ordered_dict.h>

#include <string>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

// Divides a model's parameters, except frozen ones, into groups by the optimizer's rules. The weight decay of
// a rule applies to everything that it matches, including biases and norms. Throws if a rule would have no
// effect.
std::vector<ParameterGroup> make_groups(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                                        const OptimizerCommon& settings);

}  // namespace runner
