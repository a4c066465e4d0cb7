#include "registry/merged_word.hpp"

#include <algorithm>

namespace runner {

namespace {

bool is_part(const TypeInfo& type) { return type.kind == TypeInfo::Kind::part; }

bool same_place(const Origin& one, const Origin& other) {
  return one.source == other.source && one.line == other.line && one.column == other.column;
}

}  // namespace

const Member* merged_word(const Value& value) {
  const auto* table = value.as<Table>();
  const Member* name = table ? table->member("name") : nullptr;
  if (!name || !name->value.as<std::string>() || !name->value.origin.source) return nullptr;
  // A name that was written as a key has a place of its own, apart from that of its value.
  const Origin& word = name->value.origin;
  if (!same_place(name->key_origin, word)) return nullptr;
  // All keys of a table from an environment variable have one place.
  const bool merged =
      std::ranges::any_of(*table, [&](const Member& member) { return !same_place(member.key_origin, word); });
  return merged || table->size() == 1 ? name : nullptr;
}

Value last_alternative(const Value& value, const TypeInfo& either) {
  const Member* name = merged_word(value);
  if (!name || std::ranges::any_of(either.alternatives, is_part)) return value;
  const Table& table = *value.as<Table>();
  const int layer = name->value.origin.layer;
  // Without other keys, the place of the whole says whether an empty table came later.
  int latest = table.size() == 1 && value.origin.layer > layer ? value.origin.layer : -1;
  for (const Member& member : table) {
    if (&member != name) latest = std::max(latest, member.key_origin.layer);
  }
  if (latest < layer) return name->value;
  if (latest == layer) return value;  // a word and keys at once: an error
  Value later(Value::Data(Table{}), value.origin);
  for (const Member& member : table) {
    if (&member != name && member.key_origin.layer > layer)
      later.as<Table>()->append(member.key, member.value, member.key_origin);
  }
  return later;
}

}  // namespace runner
