#pragma once

#include <array>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "registry/rules.hpp"

namespace runner {

// One member of a parameter aggregate: its key, a pointer to it, its description and its rules.
template <class Owner, class Type>
struct Field {
  std::string_view name;
  Type Owner::* member;
  std::string_view doc;
  Rules rules;
};

template <class Owner, class Type, class... Rule>
constexpr Field<Owner, Type> field(std::string_view name, Type Owner::* member, std::string_view doc,
                                   Rule... rule) {
  Rules rules;
  (rule(rules), ...);
  return {name, member, doc, rules};
}

template <class... Field>
constexpr std::tuple<Field...> fields(Field... field) {
  return {field...};
}

// One word of an enumeration: enum class Stem { imagenet, cifar } is described by
// choices(choice("imagenet", Stem::imagenet, "7x7, stride 2"), ..).
template <class Enum>
struct Choice {
  std::string_view name;
  Enum value;
  std::string_view doc;
};

template <class Enum>
constexpr Choice<Enum> choice(std::string_view name, Enum value, std::string_view doc = "") {
  return {name, value, doc};
}

template <class Enum, class... More>
constexpr std::array<Choice<Enum>, 1 + sizeof...(More)> choices(Choice<Enum> first, More... more) {
  return {first, more...};
}

// Types with a describe(std::type_identity<T>) in their own namespace.
template <class T>
concept Described = requires { describe(std::type_identity<T>{}); };

template <class T>
concept DescribedEnum = Described<T> && std::is_enum_v<T>;

template <class T>
concept DescribedAggregate = Described<T> && std::is_aggregate_v<T>;

namespace detail {

struct Anything {
  template <class T>
  operator T() const {  // never called; defined, because T may be known in one file only
    std::abort();
  }
};

template <class T, class... Filled>
constexpr std::size_t count_members() {
  if constexpr (requires { T{Filled{}..., Anything{}}; }) {
    return count_members<T, Filled..., Anything>();
  } else {
    return sizeof...(Filled);
  }
}

}  // namespace detail

namespace detail {

template <class A, class B>
constexpr bool same_member(const A& a, const B& b) {
  if constexpr (std::is_same_v<A, B>) {
    if (a.member == b.member) return true;
  }
  return a.name == b.name;
}

template <class First, class... Rest>
constexpr bool all_differ(const First& first, const Rest&... rest) {
  if ((same_member(first, rest) || ...)) return false;
  if constexpr (sizeof...(Rest) > 0) return all_differ(rest...);
  return true;
}
constexpr bool all_differ() { return true; }

}  // namespace detail

// How many members an aggregate has, so that a member missing from `describe` fails to compile.
template <class T>
constexpr std::size_t member_count = detail::count_members<T>();

template <class T>
constexpr auto described_fields() {
  constexpr auto described = describe(std::type_identity<T>{});
  static_assert(std::tuple_size_v<decltype(described)> == member_count<T>,
                "describe() must list every member of the aggregate");
  static_assert(std::apply([](const auto&... field) { return detail::all_differ(field...); }, described),
                "describe() must list each member once, under a name of its own");
  return described;
}

}  // namespace runner
