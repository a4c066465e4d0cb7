#include "components/adapters/adapter.hpp"

#include "components/contract/pattern.hpp"

namespace runner {

bool Adapter::trains(const std::string&, bool) const { return false; }

bool selects_layer(std::string_view pattern, std::string_view name) {
  return matches(pattern, name) || matches("*." + std::string(pattern), name);
}

}  // namespace runner
