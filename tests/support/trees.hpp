// Values written short, and what a user would read about them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "registry/diagnostics.hpp"
#include "registry/value.hpp"

namespace runner::testing {

inline Value tree(Value::Data data) { return Value(std::move(data)); }
inline Value text(std::string held) { return Value(Value::Data(std::move(held))); }
inline Value number(std::int64_t held) { return Value(Value::Data(held)); }

inline Value table(std::initializer_list<std::pair<std::string, Value>> members) {
  Table table;
  for (const auto& [key, value] : members) table.set(key, value);
  return Value(Value::Data(std::move(table)));
}
inline Value list(std::initializer_list<Value> items) { return Value(Value::Data(Array(items))); }

inline std::shared_ptr<const Source> file(std::string name, std::string content) {
  return std::make_shared<Source>(Source{Source::Kind::file, std::move(name), std::move(content)});
}

// The value at a dotted path; throws where there is none.
inline const Value& at(const Value& root, std::string_view path) {
  const Value* node = &root;
  while (!path.empty()) {
    const auto dot = path.find('.');
    const std::string part(path.substr(0, dot));
    if (const auto* members = node->as<Table>()) {
      node = members->find(part);
    } else if (const auto* items = node->as<Array>()) {
      node = &items->at(std::stoul(part));
    } else {
      node = nullptr;
    }
    if (!node) throw std::out_of_range("nothing at " + part);
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return *node;
}

inline std::string toml(const Value& root, std::string_view path) { return to_toml(at(root, path)); }

}  // namespace runner::testing
