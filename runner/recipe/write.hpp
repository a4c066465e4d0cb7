#pragma once

#include <string>

#include "registry/value.hpp"

namespace runner {

struct WriteOptions {
  bool origins = false;  // a comment after each value says where it came from
};

// A table as the TOML a person would write: plain values first, then [sections] and [[lists of tables]].
// Reads back to the same data, except that secrets are left out; a comment stands in their place.
std::string write_toml(const Value& table, const WriteOptions& options = {});

}  // namespace runner
