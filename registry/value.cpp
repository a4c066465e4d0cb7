#include "registry/value.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "registry/base/ascii.hpp"
#include "registry/base/number_text.hpp"
#include "registry/base/wording.hpp"

namespace runner {

Table::Table() = default;
Table::Table(const Table&) = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(const Table&) = default;
Table& Table::operator=(Table&&) noexcept = default;
Table::~Table() = default;

const Member* Table::member(std::string_view key) const {
  const auto found = std::ranges::find(members_, key, &Member::key);
  return found == members_.end() ? nullptr : &*found;
}

Member* Table::member(std::string_view key) { return const_cast<Member*>(std::as_const(*this).member(key)); }

const Value* Table::find(std::string_view key) const {
  const Member* found = member(key);
  return found ? &found->value : nullptr;
}

Value* Table::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

Value& Table::set(std::string key, Value value) {
  if (Value* existing = find(key)) return *existing = std::move(value);
  Origin key_origin = value.origin;
  return append(std::move(key), std::move(value), std::move(key_origin));
}

Value& Table::append(std::string key, Value value, Origin key_origin) {
  return members_.emplace_back(std::move(key), std::move(value), std::move(key_origin)).value;
}

bool Table::erase(std::string_view key) {
  return std::erase_if(members_, [&](const Member& member) { return member.key == key; }) > 0;
}

bool Table::empty() const { return members_.empty(); }
std::size_t Table::size() const { return members_.size(); }
std::vector<Member>::const_iterator Table::begin() const { return members_.begin(); }
std::vector<Member>::const_iterator Table::end() const { return members_.end(); }
std::vector<Member>::iterator Table::begin() { return members_.begin(); }
std::vector<Member>::iterator Table::end() { return members_.end(); }

std::string_view type_name(const Value& value) {
  constexpr std::array names{"a boolean", "an integer", "a number", "a string",
                             "a date",    "a list",     "a table"};
  return names.at(value.data.index());
}

bool same_data(const Value& a, const Value& b) {
  if (a.data.index() != b.data.index()) return false;
  if (const auto* list = a.as<Array>()) return std::ranges::equal(*list, *b.as<Array>(), same_data);
  if (const auto* table = a.as<Table>()) {
    const Table& other = *b.as<Table>();
    return table->size() == other.size() && std::ranges::all_of(*table, [&](const Member& member) {
             const Value* match = other.find(member.key);
             return match && same_data(member.value, *match);
           });
  }
  if (const auto* number = a.as<double>()) {
    return *number == *b.as<double>() || (std::isnan(*number) && std::isnan(*b.as<double>()));
  }
  if (const auto* text = a.as<std::string>()) return *text == *b.as<std::string>();
  if (const auto* integer = a.as<std::int64_t>()) return *integer == *b.as<std::int64_t>();
  if (const auto* flag = a.as<bool>()) return *flag == *b.as<bool>();
  return *a.as<Date>() == *b.as<Date>();
}

std::string quote_toml(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          constexpr std::string_view digits = "0123456789ABCDEF";
          out += "\\u00";
          out += digits[static_cast<unsigned char>(c) >> 4];
          out += digits[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::string key_to_toml(std::string_view key) {
  const bool bare = !key.empty() && std::ranges::all_of(key, is_bare_key);
  return bare ? std::string(key) : quote_toml(key);
}

std::string key_below(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : std::string(path) + "." + std::string(key);
}

namespace {

std::string number_to_toml(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text = number_text(number);
  // In TOML a float differs from an integer by its point or exponent.
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

template <class Range, class Print>
std::string printed(const Range& range, Print print) {
  std::vector<std::string> texts;
  for (const auto& item : range) texts.push_back(print(item));
  return joined(texts);
}

}  // namespace

std::string to_toml(const Value& value) {
  if (const auto* flag = value.as<bool>()) return *flag ? "true" : "false";
  if (const auto* integer = value.as<std::int64_t>()) return std::to_string(*integer);
  if (const auto* number = value.as<double>()) return number_to_toml(*number);
  if (const auto* text = value.as<std::string>()) return quote_toml(*text);
  if (const auto* date = value.as<Date>()) return date->text;
  if (const auto* list = value.as<Array>()) return "[" + printed(*list, to_toml) + "]";
  const Table& table = *value.as<Table>();
  if (table.empty()) return "{}";
  return "{ " +
         printed(table, [](const Member& m) { return key_to_toml(m.key) + " = " + to_toml(m.value); }) + " }";
}

}  // namespace runner
