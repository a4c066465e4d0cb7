#include "runner/toml/write.hpp"

#include <algorithm>

#include "registry/base/utf8.hpp"
#include "runner/toml/reference.hpp"

namespace runner {

namespace {

// Without secrets, and with texts that look like references escaped.
Value prepared(const Value& value) {
  if (const auto* text = value.as<std::string>()) return Value(Value::Data(escape_references(*text)));
  if (const auto* list = value.as<Array>()) {
    Array items;
    for (const Value& item : *list) items.push_back(prepared(item));
    return Value(Value::Data(std::move(items)));
  }
  if (const auto* table = value.as<Table>()) {
    Table members;
    for (const Member& member : *table) {
      if (!member.value.secret) members.append(member.key, prepared(member.value), {});
    }
    return Value(Value::Data(std::move(members)));
  }
  return Value(value.data);
}

bool is_list_of_tables(const Value& value) {
  const auto* list = value.as<Array>();
  return list && !list->empty() &&
         std::ranges::all_of(*list, [](const Value& item) { return item.as<Table>(); });
}

bool is_section(const Member& member) {
  return !member.value.secret && (member.value.as<Table>() || is_list_of_tables(member.value));
}

class Writer {
 public:
  explicit Writer(const WriteOptions& options) : options_(options) {}

  void members(const Table& table, const std::string& path) {
    for (const Member& member : table) {
      if (!is_section(member)) line(member);
    }
    for (const Member& member : table) {
      if (!is_section(member)) continue;
      const std::string inner = key_below(path, key_to_toml(member.key));
      if (const auto* list = member.value.as<Array>()) {
        for (const Value& item : *list) section("[[" + inner + "]]", *item.as<Table>(), inner);
      } else {
        section("[" + inner + "]", *member.value.as<Table>(), inner);
      }
    }
  }

  std::string text;

 private:
  void section(const std::string& header, const Table& table, const std::string& path) {
    // A table that contains only sections needs no header of its own, unless it is an item of a list.
    const bool implied =
        !header.starts_with("[[") && !table.empty() && std::ranges::all_of(table, is_section);
    if (!implied) text += (text.empty() ? "" : "\n") + header + "\n";
    members(table, path);
  }

  void line(const Member& member) {
    const std::string key = key_to_toml(member.key);
    if (member.value.secret) {
      if (!member.value.origin.is_default()) text += "# " + printable(key) + " is a secret and not written\n";
      return;
    }
    text += key + " = " + to_toml(prepared(member.value));
    if (options_.origins) text += "  # " + printable(to_string(member.value.origin));
    text += "\n";
  }

  const WriteOptions& options_;
};

}  // namespace

std::string write_toml(const Value& table, const WriteOptions& options) {
  Writer writer(options);
  if (const auto* members = table.as<Table>()) writer.members(*members, "");
  return std::move(writer.text);
}

}  // namespace runner
