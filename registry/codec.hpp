#pragma once

#include <charconv>
#include <concepts>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "registry/base/byte_size.hpp"
#include "registry/base/duration.hpp"
#include "registry/base/number_text.hpp"
#include "registry/field.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// How a C++ type is described, decoded from a Value, and encoded back. Only a Value that has passed conform()
// is decoded, so its types are right.
template <class T>
struct Codec;

template <class T>
const Schema& schema_of();

template <class T>
T decode_table(const Value& value, const Registry& registry);

template <class T>
Value encode_table(const T& settings);

template <>
struct Codec<bool> {
  static TypeInfo type() { return {TypeInfo::Kind::boolean}; }
  static bool decode(const Value& value, const Registry&) { return *value.as<bool>(); }
  static Value encode(bool flag) { return Value(Value::Data(flag)); }
};

template <std::integral T>
struct Codec<T> {
  static TypeInfo type() {
    TypeInfo type{TypeInfo::Kind::integer};
    type.lowest = static_cast<std::int64_t>(std::numeric_limits<T>::min());
    type.highest = sizeof(T) < 8 ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                                 : std::numeric_limits<std::int64_t>::max();
    return type;
  }
  static T decode(const Value& value, const Registry&) { return static_cast<T>(*value.as<std::int64_t>()); }
  static Value encode(T integer) { return Value(Value::Data(static_cast<std::int64_t>(integer))); }
};

template <std::floating_point T>
struct Codec<T> {
  static TypeInfo type() { return {TypeInfo::Kind::number}; }
  static T decode(const Value& value, const Registry&) {
    if (const auto* integer = value.as<std::int64_t>()) return static_cast<T>(*integer);
    return static_cast<T>(*value.as<double>());
  }
  // By way of the shortest text: 0.1f is shown as 0.1, not as 0.10000000149.
  static Value encode(T number) {
    const std::string text = number_text(number);
    double shown = static_cast<double>(number);
    std::from_chars(text.data(), text.data() + text.size(), shown);
    return Value(Value::Data(shown));
  }
};

template <>
struct Codec<std::string> {
  static TypeInfo type() { return {TypeInfo::Kind::string}; }
  static std::string decode(const Value& value, const Registry&) {
    const auto* text = value.as<std::string>();
    return text ? *text : value.typed;
  }
  static Value encode(const std::string& text) { return Value(Value::Data(text)); }
};

template <>
struct Codec<std::filesystem::path> {
  static TypeInfo type() { return {TypeInfo::Kind::path}; }
  static std::filesystem::path decode(const Value& value, const Registry& registry) {
    return Codec<std::string>::decode(value, registry);
  }
  static Value encode(const std::filesystem::path& path) { return Value(Value::Data(path.string())); }
};

template <>
struct Codec<Duration> {
  static TypeInfo type() { return {TypeInfo::Kind::duration}; }
  static Duration decode(const Value& value, const Registry&) {
    return std::get<Duration>(parse_duration(*value.as<std::string>()));
  }
  static Value encode(const Duration& duration) { return Value(Value::Data(to_string(duration))); }
};

template <>
struct Codec<ByteSize> {
  static TypeInfo type() { return {TypeInfo::Kind::size}; }
  static ByteSize decode(const Value& value, const Registry&) {
    return std::get<ByteSize>(parse_byte_size(*value.as<std::string>()));
  }
  static Value encode(const ByteSize& size) { return Value(Value::Data(to_string(size))); }
};

template <DescribedEnum T>
struct Codec<T> {
  static constexpr auto words = describe(std::type_identity<T>{});

  static TypeInfo type() {
    TypeInfo type{TypeInfo::Kind::choice};
    for (const auto& word : words) type.choices.push_back({word.name, word.doc});
    return type;
  }
  static T decode(const Value& value, const Registry&) {
    for (const auto& word : words) {
      if (word.name == *value.as<std::string>()) return word.value;
    }
    return words.front().value;
  }
  static Value encode(T choice) {
    for (const auto& word : words) {
      if (word.value == choice) return Value(Value::Data(std::string(word.name)));
    }
    return Value(Value::Data(std::string(words.front().name)));
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static TypeInfo type() {
    TypeInfo type = Codec<T>::type();
    type.optional = true;
    return type;
  }
  static std::optional<T> decode(const Value& value, const Registry& registry) {
    return Codec<T>::decode(value, registry);
  }
  static Value encode(const std::optional<T>& held) { return Codec<T>::encode(*held); }
};

template <class T>
struct Codec<std::vector<T>> {
  static TypeInfo type() {
    TypeInfo type{TypeInfo::Kind::list};
    type.element = std::make_shared<TypeInfo>(Codec<T>::type());
    return type;
  }
  static std::vector<T> decode(const Value& value, const Registry& registry) {
    std::vector<T> list;
    for (const Value& item : *value.as<Array>()) list.push_back(Codec<T>::decode(item, registry));
    return list;
  }
  static Value encode(const std::vector<T>& list) {
    Array array;
    for (const T& item : list) array.push_back(Codec<T>::encode(item));
    return Value(Value::Data(std::move(array)));
  }
};

template <class T>
struct Codec<std::map<std::string, T>> {
  static TypeInfo type() {
    TypeInfo type{TypeInfo::Kind::map};
    type.element = std::make_shared<TypeInfo>(Codec<T>::type());
    return type;
  }
  static std::map<std::string, T> decode(const Value& value, const Registry& registry) {
    std::map<std::string, T> map;
    for (const Member& member : *value.as<Table>())
      map[member.key] = Codec<T>::decode(member.value, registry);
    return map;
  }
  static Value encode(const std::map<std::string, T>& map) {
    Table table;
    for (const auto& [key, item] : map) table.set(key, Codec<T>::encode(item));
    return Value(Value::Data(std::move(table)));
  }
};

// Alternatives with different TOML types: a list, one of a few words, a table.
template <class... Alternatives>
struct Codec<std::variant<Alternatives...>> {
  using Held = std::variant<Alternatives...>;

  static TypeInfo type() {
    TypeInfo type{TypeInfo::Kind::either};
    type.alternatives = {Codec<Alternatives>::type()...};
    return type;
  }
  static Held decode(const Value& value, const Registry& registry) {
    const TypeInfo types = type();
    const auto chosen = static_cast<std::size_t>(alternative_for(value, types) - types.alternatives.data());
    Held held;
    std::size_t index = 0;
    ((index++ == chosen ? void(held = Codec<Alternatives>::decode(value, registry)) : void()), ...);
    return held;
  }
  static Value encode(const Held& held) {
    return std::visit([](const auto& one) { return Codec<std::remove_cvref_t<decltype(one)>>::encode(one); },
                      held);
  }
};

template <DescribedAggregate T>
struct Codec<T> {
  static TypeInfo type() {
    TypeInfo type{TypeInfo::Kind::table};
    type.schema = &schema_of<T>;
    return type;
  }
  static T decode(const Value& value, const Registry& registry) { return decode_table<T>(value, registry); }
  static Value encode(const T& settings) { return encode_table(settings); }
};

namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Whether there is a default to show: an unset optional and a part without a name have none.
template <class T>
bool holds_default(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value.has_value();
  } else if constexpr (requires { value.has_default(); }) {
    return value.has_default();
  } else {
    return true;
  }
}

template <class T, class Visit>
void for_each_field(Visit visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, described_fields<T>());
}

template <class T>
FieldInfo field_info(const auto& field, const T& defaults) {
  using Type = std::remove_cvref_t<decltype(defaults.*field.member)>;
  const TypeInfo type = Codec<Type>::type();
  FieldInfo info{field.name, field.doc, type, with_general_bounds(field.rules, type), std::nullopt};
  const auto& value = defaults.*field.member;
  if (!info.required() && holds_default(value)) info.default_value = Codec<Type>::encode(value);
  return info;
}

}  // namespace detail

template <class T>
T decode_table(const Value& value, const Registry& registry) {
  T settings{};
  const Table* table = value.as<Table>();
  detail::for_each_field<T>([&](const auto& field) {
    using Type = std::remove_cvref_t<decltype(settings.*field.member)>;
    if (const Value* member = table ? table->find(field.name) : nullptr) {
      settings.*field.member = Codec<Type>::decode(*member, registry);
    }
  });
  return settings;
}

template <class T>
Value encode_table(const T& settings) {
  Table table;
  detail::for_each_field<T>([&](const auto& field) {
    using Type = std::remove_cvref_t<decltype(settings.*field.member)>;
    const auto& value = settings.*field.member;
    if (!detail::holds_default(value)) return;
    Value encoded = Codec<Type>::encode(value);
    encoded.secret = field.rules.secret;
    table.set(std::string(field.name), std::move(encoded));
  });
  return Value(Value::Data(std::move(table)));
}

template <class T>
const Schema& schema_of() {
  static const Schema schema = [] {
    Schema made;
    const T defaults{};
    detail::for_each_field<T>(
        [&](const auto& field) { made.fields.push_back(detail::field_info(field, defaults)); });
    if constexpr (requires(const T& settings, Report& report) { check(settings, report); }) {
      made.check = [](const Value& table, const Registry& registry, Report& report) {
        check(decode_table<T>(table, registry), report);
      };
    }
    return made;
  }();
  return schema;
}

}  // namespace runner
