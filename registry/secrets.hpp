#pragma once

#include <string>
#include <vector>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// The names of all fields marked secret, those of every component included.
std::vector<std::string> secret_names(const Schema& schema, const Registry& registry);

// No message shows a line on which such a key, or one that is spelled almost like it, has its value: neither
// a message about that key nor one about something else on the line.
void hide_secrets(const Value& tree, const std::vector<std::string>& names, Diagnostics& diagnostics);

// The same before there is a tree, going by the words on the line.
void hide_lines_naming(const std::vector<std::string>& names, Diagnostics& diagnostics);

// No message repeats what came from an environment variable by ${env:NAME}: it may be a secret.
void hide_variables(const Value& tree, Diagnostics& diagnostics);

// An address with a password in it is a secret, and whatever repeats the text of a secret, as a reference to
// it does, becomes one too.
void follow_secrets(Value& recipe);

}  // namespace runner
