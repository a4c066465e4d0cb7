#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "components/contract/state.hpp"

namespace runner {

// A state as JSON, without loss of precision: integers, numbers and texts by name, parts below "parts", and
// the names of its tensors, which are in a file of their own. Texts, and names of values, may be any bytes.
nlohmann::json to_json(const State& state);
// Throws StateError if the JSON is not a state. The tensors are looked up as "<prefix><name>".
State state_from_json(const nlohmann::json& json, const std::map<std::string, torch::Tensor>& tensors,
                      const std::string& prefix);

// All tensors of a state and of its parts, as they are written to a file: "part/name".
using TensorList = std::vector<std::pair<std::string, torch::Tensor>>;
TensorList tensors_of(const State& state, const std::string& prefix = "");

}  // namespace runner
