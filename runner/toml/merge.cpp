#include "runner/toml/merge.hpp"

#include <string>
#include <unordered_map>

namespace runner {

namespace {

void merge_tables(Table& base, Table over) {
  std::unordered_map<std::string, std::size_t> index;  // Table::find is slow for thousands of keys
  for (const Member& member : base) index.emplace(member.key, index.size());
  for (Member& member : over) {
    const auto found = index.find(member.key);
    if (found == index.end()) {
      base.append(std::move(member.key), std::move(member.value), std::move(member.key_origin));
    } else {
      Member& existing = base.begin()[static_cast<std::ptrdiff_t>(found->second)];
      existing.key_origin = std::move(member.key_origin);
      merge_over(existing.value, std::move(member.value));
    }
  }
}

}  // namespace

void expand_name(Value& value) {
  Table table;
  Origin origin = value.origin;
  table.append("name", std::move(value), origin);
  value = Value(Value::Data(std::move(table)), std::move(origin));
}

void merge_over(Value& base, Value over) {
  if (base.as<std::string>() && over.as<Table>()) expand_name(base);
  if (base.as<Table>() && over.as<std::string>()) expand_name(over);
  if (base.as<Table>() && over.as<Table>()) {
    merge_tables(*base.as<Table>(), std::move(*over.as<Table>()));
    base.origin = std::move(over.origin);
  } else {
    // Naming the same component again changes nothing, so its earlier settings still have to be valid.
    const bool repeated = base.as<std::string>() && same_data(base, over);
    const int first_layer = base.origin.layer;
    base = std::move(over);
    if (repeated) base.origin.layer = first_layer;
  }
}

}  // namespace runner
