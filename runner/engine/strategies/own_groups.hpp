#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

// Keeps only the parameters that this rank updates, and removes groups that have none left.
inline std::vector<ParameterGroup> own_groups(std::vector<ParameterGroup> groups,
                                              const std::function<bool(const std::string&)>& updates) {
  for (ParameterGroup& group : groups) {
    ParameterGroup own = group;
    own.names.clear();
    own.parameters.clear();
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      if (!updates(group.names[i])) continue;
      own.names.push_back(group.names[i]);
      own.parameters.push_back(group.parameters[i]);
    }
    group = std::move(own);
  }
  std::erase_if(groups, [](const ParameterGroup& group) { return group.names.empty(); });
  return groups;
}

// What the optimizer of this rank is built from.
inline OptimizerInputs own_inputs(std::vector<ParameterGroup> all,
                                  const std::function<bool(const std::string&)>& updates) {
  OptimizerInputs inputs;
  for (const ParameterGroup& group : all)
    inputs.all_names.insert(inputs.all_names.end(), group.names.begin(), group.names.end());
  if (std::ranges::all_of(inputs.all_names, updates)) inputs.all_names.clear();
  inputs.groups = own_groups(std::move(all), updates);
  return inputs;
}

}  // namespace runner
