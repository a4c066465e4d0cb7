#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "registry/origin.hpp"

namespace runner {

class Value;
struct Member;

// Keys in the order in which they were written.
class Table {
 public:
  Table();
  Table(const Table&);
  Table(Table&&) noexcept;
  Table& operator=(const Table&);
  Table& operator=(Table&&) noexcept;
  ~Table();

  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  const Member* member(std::string_view key) const;
  Member* member(std::string_view key);
  Value& set(std::string key, Value value);                        // replaces, or appends
  Value& append(std::string key, Value value, Origin key_origin);  // the key is known to be new
  bool erase(std::string_view key);

  bool empty() const;
  std::size_t size() const;
  std::vector<Member>::const_iterator begin() const;
  std::vector<Member>::const_iterator end() const;
  std::vector<Member>::iterator begin();
  std::vector<Member>::iterator end();

 private:
  std::vector<Member> members_;
};

using Array = std::vector<Value>;

// TOML's dates and times. No setting takes one, so only the text is kept, for the message.
struct Date {
  std::string text;
  bool operator==(const Date&) const = default;
};

// One node of a recipe: TOML's data model, and where it came from.
class Value {
 public:
  using Data = std::variant<bool, std::int64_t, double, std::string, Date, Array, Table>;

  Value() : data(Table{}) {}
  Value(Data data_, Origin origin_ = {}) : data(std::move(data_)), origin(std::move(origin_)) {}

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&data);
  }

  Data data;
  Origin origin;
  // The original text of a value from an argument or the environment: `run.name=007` means "007" because the
  // key is a string.
  std::string typed;
  bool from_environment = false;  // filled in by ${env:NAME}: messages do not show it
  bool secret = false;            // its field is marked secret: never printed, logged or saved
};

struct Member {
  std::string key;
  Value value;
  Origin key_origin;
};

// "a string", "an integer" ..: for messages.
std::string_view type_name(const Value& value);

// Whether the data is equal; the origins may differ.
bool same_data(const Value& a, const Value& b);

// The value as one line of TOML.
std::string to_toml(const Value& value);
std::string quote_toml(std::string_view text);
std::string key_to_toml(std::string_view key);  // bare if TOML allows it, otherwise quoted
std::string key_below(std::string_view path, std::string_view key);  // "optimizer.lr"; below "": the key

}  // namespace runner
