#pragma once

#include <string>
#include <vector>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/plugins/trusted.hpp"
#include "runner/toml/load.hpp"

namespace runner {

// The rule of docs/trackers.md: secrets go only to a server that the user named outside the recipe, files
// that a recipe names are no secrets of its own choice, and ${env:NAME} of a recipe is sent only with the
// user's consent. Each breach is an error that says what to type once.
void require_trust_in_servers(const Value& resolved, const std::vector<UsedVariable>& used,
                              const Trusted& trusted, const Registry& registry, Diagnostics& diagnostics);

// Where each secret comes from and where it goes, a line for each tracker that sends something.
std::vector<std::string> what_is_sent(const Value& resolved, const Trusted& trusted,
                                      const Registry& registry);

}  // namespace runner
