#pragma once

#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// Layers of a recipe are merged without the schema, so a word over a table counts as the name of a part:
// { frog = 4 } and then "balanced" give { frog = 4, name = "balanced" }. Where there is no part, that was
// not meant.

// The member that such a word became; null if there is none.
const Member* merged_word(const Value& value);

// What the later layer says, if no alternative is a part.
Value last_alternative(const Value& value, const TypeInfo& either);

}  // namespace runner
