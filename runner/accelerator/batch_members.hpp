#pragma once

#include <torch/data/example.h>
#include <torch/types.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "registry/field.hpp"

namespace runner {

// The members of a batch, which all have the same rows: one for each example.
//   a tensor        its first dimension is the row
//   a vector        an entry for each row: texts, numbers, tensors of different shapes
//   a map, optional of these, and another aggregate of such members
// A batch type of your own is an aggregate of them:
//   struct Captions { torch::Tensor images; std::vector<std::string> texts; };
// For any other class, define a function of this name in its namespace.
inline auto members_of(torch::data::TensorExample& example) { return std::tie(example.data); }
inline auto members_of(torch::data::Example<>& example) { return std::tie(example.data, example.target); }

namespace detail {

template <class T>
constexpr bool is_vector = false;
template <class T>
constexpr bool is_vector<std::vector<T>> = true;
template <class T>
constexpr bool is_map = false;
template <class Key, class T>
constexpr bool is_map<std::map<Key, T>> = true;
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_tensor = std::is_same_v<T, torch::Tensor>;

template <class T>
constexpr bool has_members = requires(T& value) { members_of(value); };
template <class T>
constexpr bool is_plain_aggregate =
    std::is_aggregate_v<T> && !std::is_array_v<T> && std::is_class_v<T> && !has_members<T>;

constexpr std::size_t most_members = 8;

// References to all members of an aggregate.
template <class T>
auto tie_members(T& value) {
  constexpr std::size_t count = member_count<T>;
  static_assert(count <= most_members, "an aggregate of more than 8 members needs a members_of() of its own");
  if constexpr (count == 1) {
    auto& [a] = value;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  } else {
    return std::tie();
  }
}

template <class T>
auto all_members(T& value) {
  if constexpr (has_members<T>) {
    return members_of(value);
  } else {
    return tie_members(value);
  }
}

// Whether a value has rows, as batch_members.hpp describes.
template <class T>
constexpr bool has_rows() {
  if constexpr (is_tensor<T> || is_vector<T>) {
    return true;
  } else if constexpr (is_map<T>) {
    return has_rows<typename T::mapped_type>();
  } else if constexpr (is_optional<T>) {
    return has_rows<typename T::value_type>();
  } else if constexpr (has_members<T> || is_plain_aggregate<T>) {
    using Members = decltype(all_members(std::declval<T&>()));
    return []<class... Member>(std::type_identity<std::tuple<Member...>>) {
      return (has_rows<std::remove_cvref_t<Member>>() && ...);
    }(std::type_identity<Members>{});
  } else {
    return false;
  }
}

}  // namespace detail

template <class Item>
concept HasRows = detail::has_rows<Item>();

// Calls the function for every tensor and every vector of the batch.
template <HasRows Item, class Function>
void for_each_member(Item& item, const Function& function) {
  if constexpr (detail::is_tensor<Item> || detail::is_vector<Item>) {
    function(item);
  } else if constexpr (detail::is_map<Item>) {
    for (auto& [name, member] : item) for_each_member(member, function);
  } else if constexpr (detail::is_optional<Item>) {
    if (item) for_each_member(*item, function);
  } else {
    std::apply([&](auto&... member) { (for_each_member(member, function), ...); }, detail::all_members(item));
  }
}

// Calls the function for every tensor that is defined, also for those in vectors.
template <HasRows Item, class Function>
void for_each_tensor(Item& item, const Function& function) {
  for_each_member(item, [&](auto& member) {
    using Column = std::remove_reference_t<decltype(member)>;
    if constexpr (detail::is_tensor<Column>) {
      if (member.defined()) function(member);
    } else if constexpr (HasRows<typename Column::value_type>) {
      for (auto& entry : member) for_each_tensor(entry, function);
    }
  });
}

// Throws std::invalid_argument if the members differ, or if a tensor has no rows.
template <HasRows Item>
std::int64_t rows_of(const Item& item) {
  std::optional<std::int64_t> rows;
  for_each_member(const_cast<Item&>(item), [&](auto& member) {
    std::int64_t own = 0;
    if constexpr (detail::is_tensor<std::remove_reference_t<decltype(member)>>) {
      if (!member.defined()) return;
      if (member.dim() == 0)
        throw std::invalid_argument(
            "A member of a batch is a single number: it does not say to which example it belongs.");
      own = member.size(0);
    } else {
      own = static_cast<std::int64_t>(member.size());
    }
    if (rows && *rows != own)
      throw std::invalid_argument("The members of a batch have different numbers of rows: " +
                                  std::to_string(*rows) + " and " + std::to_string(own) + ".");
    rows = own;
  });
  return rows.value_or(0);
}

using Rows = std::vector<std::int64_t>;  // of a batch, in the order wanted; may be repeated

torch::Tensor take_rows(const torch::Tensor& tensor, const Rows& rows);  // undefined stays undefined

template <HasRows Item>
Item take_rows(Item item, const Rows& rows) {
  for_each_member(item, [&](auto& member) {
    using Column = std::remove_reference_t<decltype(member)>;
    if constexpr (detail::is_tensor<Column>) {
      member = runner::take_rows(static_cast<const torch::Tensor&>(member), rows);
    } else {
      Column taken;
      for (const std::int64_t row : rows) taken.push_back(member[static_cast<std::size_t>(row)]);
      member = std::move(taken);
    }
  });
  return item;
}

// One batch with the rows of all, in their order.
template <HasRows Item>
Item joined_rows(std::vector<Item> items) {
  if (items.size() == 1) return std::move(items.front());
  Item all = items.front();
  std::size_t members = 0;
  for_each_member(all, [&](auto& member) {
    using Column = std::remove_reference_t<decltype(member)>;
    std::vector<Column*> pieces;
    for (Item& item : items) {
      std::size_t at = 0;
      for_each_member(item, [&](auto& other) {
        if constexpr (std::is_same_v<decltype(other), Column&>)
          if (at == members) pieces.push_back(&other);
        ++at;
      });
    }
    ++members;
    if (pieces.size() != items.size())
      throw std::invalid_argument("Batches that are joined for several ranks do not have the same members.");
    Column whole;
    if constexpr (detail::is_tensor<Column>) {
      std::vector<torch::Tensor> tensors;
      for (const Column* piece : pieces)
        if (piece->defined()) tensors.push_back(*piece);
      if (!tensors.empty()) whole = torch::cat(tensors);
    } else {
      for (Column* piece : pieces)
        whole.insert(whole.end(), std::make_move_iterator(piece->begin()),
                     std::make_move_iterator(piece->end()));
    }
    member = std::move(whole);
  });
  return all;
}

}  // namespace runner
