#pragma once

#include <string>

#include "components/weights/pickle.hpp"

namespace runner::pickle {

// The dictionary of names and tensors in what a training script saved.
struct WeightsDict {
  std::string path;  // the keys that lead to it: "", "state_dict", "checkpoint.model"
  const Dict* dict;
};

// Tries the usual keys ("state_dict", "model" ..) first, then takes the only dictionary that holds tensors.
// Throws PickleError if there is none, or if there are several.
WeightsDict find_weights(const Object& root);

}  // namespace runner::pickle
