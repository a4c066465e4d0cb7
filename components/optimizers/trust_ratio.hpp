#pragma once

#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// coefficient |weights| / (|update| + damping |weights|) of each parameter, on its device; 1 if a norm is
// zero, and for parameters of one dimension unless `biases_and_norms_too`.
std::vector<torch::Tensor> trust_ratios(at::TensorList parameters, at::TensorList updates, double damping,
                                        double coefficient, bool biases_and_norms_too);

}  // namespace runner
