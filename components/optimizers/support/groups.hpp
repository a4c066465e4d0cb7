#pragma once

#include <torch/ordered_dict.h>

#include <string>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

// Sorts a model's parameters into groups by the optimizer's rules, frozen ones left out. A weight decay that
// a rule states holds for everything it matches, biases and norms included. Throws where a rule would have no
// effect.
std::vector<ParameterGroup> make_groups(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                                        const OptimizerCommon& settings);

}  // namespace runner
