#pragma once

#include <string>

#include "components/support/weights/pickle.hpp"

namespace runner::pickle {

// The dictionary of names and tensors in what a training script saved.
struct WeightsDict {
  std::string path;  // the keys that lead to it: "", "state_dict", "checkpoint.model"
  const Dict* dict;
};

// By the usual keys ("state_dict", "model" ..) first; else the only dictionary with tensors in it. Throws
// PickleError where there is none, or several between which nothing decides.
WeightsDict find_weights(const Object& root);

}  // namespace runner::pickle
