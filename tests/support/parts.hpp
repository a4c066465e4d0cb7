// A component as a recipe gives it: found by name, checked against its schema, decoded.
//   part<OptimizerKind>("sgd", {{"lr", 0.1}, {"betas", Setting::list({0.9, 0.99})}}).build(inputs)
// What is wrong with the settings is thrown as the text the user would see.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "registry/conform.hpp"
#include "registry/registry.hpp"

namespace runner::testing {

struct Setting {
  Setting(bool flag) : value(Value::Data(flag)) {}                                // NOLINT: reads as TOML
  Setting(int number) : value(Value::Data(static_cast<std::int64_t>(number))) {}  // NOLINT
  Setting(std::int64_t number) : value(Value::Data(number)) {}                    // NOLINT
  Setting(double number) : value(Value::Data(number)) {}                          // NOLINT
  Setting(const char* text) : value(Value::Data(std::string(text))) {}            // NOLINT
  Setting(std::string text) : value(Value::Data(std::move(text))) {}              // NOLINT
  Setting(Value held) : value(std::move(held)) {}                                 // NOLINT

  static Setting list(std::initializer_list<Setting> items) {
    Array array;
    for (const Setting& item : items) array.push_back(item.value);
    return Value(Value::Data(std::move(array)));
  }
  static Setting table(std::initializer_list<std::pair<std::string, Setting>> members) {
    Table table;
    for (const auto& [key, member] : members) table.set(key, member.value);
    return Value(Value::Data(std::move(table)));
  }

  Value value;
};

using Settings = std::vector<std::pair<std::string, Setting>>;

template <Kind K>
struct OnePart {
  Part<K> part;
};
template <Kind K>
constexpr auto describe(std::type_identity<OnePart<K>>) {
  return fields(field("part", &OnePart<K>::part, "The part.", required()));
}

template <Kind K>
Part<K> part(std::string name, const Settings& settings = {}) {
  static const Registry registry = Registry::of_linked();
  Table own;
  own.set("name", Value(Value::Data(std::move(name))));
  for (const auto& [key, setting] : settings) own.set(key, setting.value);
  Table outer;
  outer.set("part", Value(Value::Data(std::move(own))));
  Diagnostics diagnostics;
  const Value conformed =
      conform(Value(Value::Data(std::move(outer))), schema_of<OnePart<K>>(), registry, diagnostics);
  if (!diagnostics.ok()) throw std::invalid_argument(render(diagnostics));
  return decode_table<OnePart<K>>(conformed, registry).part;
}

}  // namespace runner::testing
