#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "registry/value.hpp"

namespace runner {

// A setting written in C++ as it would be in TOML: {{"lr", 0.1}, {"betas", PartSetting::list({0.9, 0.99})}}.
struct PartSetting {
  PartSetting(bool flag) : value(Value::Data(flag)) {}                                // NOLINT: reads as TOML
  PartSetting(int number) : value(Value::Data(static_cast<std::int64_t>(number))) {}  // NOLINT
  PartSetting(std::int64_t number) : value(Value::Data(number)) {}                    // NOLINT
  PartSetting(double number) : value(Value::Data(number)) {}                          // NOLINT
  PartSetting(const char* text) : value(Value::Data(std::string(text))) {}            // NOLINT
  PartSetting(std::string text) : value(Value::Data(std::move(text))) {}              // NOLINT
  PartSetting(Value held) : value(std::move(held)) {}                                 // NOLINT

  static PartSetting list(std::initializer_list<PartSetting> items) {
    Array array;
    for (const PartSetting& item : items) array.push_back(item.value);
    return Value(Value::Data(std::move(array)));
  }
  static PartSetting table(std::initializer_list<std::pair<std::string, PartSetting>> members) {
    Table table;
    for (const auto& [key, member] : members) table.set(key, member.value);
    return Value(Value::Data(std::move(table)));
  }

  Value value;
};

using PartSettings = std::vector<std::pair<std::string, PartSetting>>;

inline Table table_of(const PartSettings& settings) {
  Table table;
  for (const auto& [key, setting] : settings) table.set(key, setting.value);
  return table;
}

}  // namespace runner
