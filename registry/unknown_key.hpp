#pragma once

#include <string>
#include <string_view>

#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// What may have been meant by a key that the schema does not have: a similar one, one in another section or
// in a part of this table; or else the keys that there are. `path` is that of the table, "" for the recipe.
std::string unknown_key_hint(const Member& unknown, const Table& given, const Schema& schema,
                             const Registry& registry, const std::string& path);

}  // namespace runner
