#pragma once

#include <string>
#include <utility>
#include <vector>

#include "registry/value.hpp"

namespace runner {

// Every single value of a tree with its dotted path ("tracker.0.dir"); a list of plain values is one value.
std::vector<std::pair<std::string, const Value*>> flatten(const Value& tree);

struct Difference {
  std::string path;
  const Value* here;   // none: only in the other
  const Value* there;  // none: only in this one
};

std::vector<Difference> compare(const Value& tree, const Value& other);

}  // namespace runner
