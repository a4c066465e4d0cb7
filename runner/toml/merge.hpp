#pragma once

#include "registry/value.hpp"

namespace runner {

// Puts a later value over an earlier one. Tables merge key by key; everything else, lists too, is replaced. A
// part may be written as its bare name, so a string over a table sets the table's `name`, and a table over a
// string keeps the string as its `name`.
void merge_over(Value& base, Value over);

// "sgd" as { name = "sgd" }.
void expand_name(Value& value);

}  // namespace runner
