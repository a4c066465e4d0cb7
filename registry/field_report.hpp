#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/diagnostics.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// Reports values that a field cannot take, with the place in the recipe.
struct FieldReport {
  const FieldInfo& field;
  std::string path;  // optimizer.lr
  std::string see;   // the command that explains more
  Diagnostics& diagnostics;

  FieldReport at(std::string_view key) const {
    return {field, path + "." + std::string(key), see, diagnostics};
  }

  std::nullopt_t wrong(const Value& value, std::string message, std::vector<std::string> hints = {}) const;
  std::nullopt_t wrong_type(const Value& value, const TypeInfo& type) const;
  std::nullopt_t out_of_range(const Value& value) const;
  std::nullopt_t not_among(const Value& value, const std::string& held,
                           const std::vector<std::string>& allowed) const;
};

}  // namespace runner
