#pragma once

#include <torch/types.h>

#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "runner/accelerator/batch_members.hpp"

namespace runner {

// Objects as bytes, to send them to other ranks of the same program: numbers, enumerations, texts and
// tensors; vectors, maps, pairs, tuples and optionals of these; and aggregates of all of them.

namespace detail {

template <class T>
constexpr bool is_tuple = false;
template <class... T>
constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
constexpr bool is_tuple<std::pair<A, B>> = true;

template <class T>
constexpr bool is_sendable() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> ||
                is_tensor<T>) {
    return true;
  } else if constexpr (is_vector<T> || is_optional<T>) {
    return is_sendable<typename T::value_type>();
  } else if constexpr (is_map<T>) {
    return is_sendable<typename T::key_type>() && is_sendable<typename T::mapped_type>();
  } else if constexpr (is_tuple<T>) {
    return []<std::size_t... i>(std::index_sequence<i...>) {
      return (is_sendable<std::tuple_element_t<i, T>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (has_members<T> || is_plain_aggregate<T>) {
    return []<class... Member>(std::type_identity<std::tuple<Member...>>) {
      return (is_sendable<std::remove_cvref_t<Member>>() && ...);
    }(std::type_identity<decltype(all_members(std::declval<T&>()))>{});
  } else {
    return false;
  }
}

}  // namespace detail

template <class T>
concept Sendable = detail::is_sendable<T>();

class ObjectWriter {
 public:
  template <Sendable T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      put(value.size());
      bytes_ += value;
    } else if constexpr (detail::is_tensor<T>) {
      put_tensor(value);
    } else if constexpr (detail::is_vector<T>) {
      put(value.size());
      for (const auto& entry : value) put<typename T::value_type>(entry);
    } else if constexpr (detail::is_map<T>) {
      put(value.size());
      for (const auto& [key, entry] : value) put(key), put(entry);
    } else if constexpr (detail::is_optional<T>) {
      put(value.has_value());
      if (value) put(*value);
    } else if constexpr (detail::is_tuple<T>) {
      std::apply([&](const auto&... part) { (put(part), ...); }, value);
    } else {
      std::apply([&](const auto&... member) { (put(member), ...); },
                 detail::all_members(const_cast<T&>(value)));
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  void put_tensor(const torch::Tensor& tensor);

  std::string bytes_;
};

class ObjectReader {
 public:
  explicit ObjectReader(std::string_view bytes) : rest_(bytes) {}

  template <Sendable T>
  void get(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      std::memcpy(&value, take(sizeof value).data(), sizeof value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = take(size());
    } else if constexpr (detail::is_tensor<T>) {
      value = get_tensor();
    } else if constexpr (detail::is_vector<T>) {
      value.clear();
      for (std::size_t left = size(); left > 0; --left) {
        typename T::value_type entry{};
        get(entry);
        value.push_back(std::move(entry));
      }
    } else if constexpr (detail::is_map<T>) {
      value.clear();
      for (std::size_t left = size(); left > 0; --left) {
        std::pair<typename T::key_type, typename T::mapped_type> entry{};
        get(entry);
        value.insert(std::move(entry));
      }
    } else if constexpr (detail::is_optional<T>) {
      bool present = false;
      get(present);
      value.reset();
      if (present) get(value.emplace());
    } else if constexpr (detail::is_tuple<T>) {
      std::apply([&](auto&... part) { (get(part), ...); }, value);
    } else {
      std::apply([&](auto&... member) { (get(member), ...); }, detail::all_members(value));
    }
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) throw std::runtime_error("an object that another rank sent ends early");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::size_t size() {
    std::size_t count = 0;
    get(count);
    return count;
  }
  torch::Tensor get_tensor();

  std::string_view rest_;
};

// The type comes first, so that ranks that send different types notice it.
template <Sendable T>
std::string to_bytes(const T& value) {
  ObjectWriter writer;
  writer.put(std::string(typeid(T).name()));
  writer.put(value);
  return writer.take();
}

// Throws std::invalid_argument, which names the call and the rank, if the rank has sent another type.
void require_type(const std::string& sent, const std::type_info& wanted, const char* call, int rank);

template <Sendable T>
T from_bytes(std::string_view bytes, const char* call, int rank) {
  ObjectReader reader(bytes);
  std::string type;
  reader.get(type);
  require_type(type, typeid(T), call, rank);
  T value{};
  reader.get(value);
  return value;
}

}  // namespace runner
