#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/diagnostics.hpp"
#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// The names of all fields marked secret, including those of every component.
std::vector<std::string> secret_names(const Schema& schema, const Registry& registry);

// Hides the source line of every message if such a key, or a similar one, has its value on that line, or an
// address that contains a password, whatever the message is about.
void hide_secrets(const Value& tree, const std::vector<std::string>& names, Diagnostics& diagnostics);

// The same for a text that could not be parsed: judged by the words on the line, and also for keys that sound
// secret in any section, such as password.
void hide_lines_naming(const std::vector<std::string>& names, Diagnostics& diagnostics);

// Replaces values that ${env:NAME} filled in by "the value of ${env:NAME}" in messages and hints: they may be
// secrets.
void hide_variables(const Value& tree, Diagnostics& diagnostics);

// Whether a text is an address with a password: "https://user:password@host/..".
bool holds_password(std::string_view text);

// Marks as secret every address that contains a password, and every value that repeats a secret, for example
// through a reference to it.
void follow_secrets(Value& recipe);

}  // namespace runner
