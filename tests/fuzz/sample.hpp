// What the fuzz targets hold their input against.
#pragma once

#include <cstdlib>
#include <string>

#include "registry/codec.hpp"
#include "registry/conform.hpp"
#include "tests/support/sample_schema.hpp"

namespace runner::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Conforms and, where the recipe is right, decodes it too; every message is rendered.
inline std::optional<Value> conformed(const Value& tree, Diagnostics& diagnostics) {
  static const Registry registry = sample::registry();
  const Schema& schema = schema_of<sample::Everything>();
  Value result = conform(tree, schema, registry, diagnostics);
  require(!render(diagnostics, true).empty() || diagnostics.all().empty());
  if (!diagnostics.ok()) return std::nullopt;
  const auto decoded = decode_table<sample::Everything>(result, registry);
  require(decoded.count >= 1 && decoded.count <= 100);
  return result;
}

}  // namespace runner::fuzz
