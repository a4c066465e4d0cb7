#pragma once

#include <string>

#include "registry/value.hpp"

namespace runner {

struct WriteOptions {
  bool origins = false;  // a comment after each value says where it came from
};

// A table as the TOML a person would write: plain values first, then [sections] and [[lists of tables]].
// Reading it gives the same data, except for secrets, which are replaced by a comment.
std::string write_toml(const Value& table, const WriteOptions& options = {});

}  // namespace runner
