#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "components/optimizers/optimizer.hpp"

namespace runner {

// Of the parameters in these groups, those that a rank updates; groups that are left with none are gone.
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

}  // namespace runner
