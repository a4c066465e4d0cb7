#include "runner/ranks/store_contents.hpp"

#include <algorithm>
#include <charconv>

#include "runner/ranks/store_protocol.hpp"

namespace runner::store {

std::optional<std::string> Contents::get(const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

void Contents::set(const std::string& key, std::string value) {
  const std::scoped_lock lock(mutex_);
  put(key, std::move(value));
}

void Contents::append(const std::string& key, const std::string& more) {
  const std::scoped_lock lock(mutex_);
  put(key, at(key) + more);
}

std::int64_t Contents::add(const std::string& key, std::int64_t amount) {
  const std::scoped_lock lock(mutex_);
  const std::string old = at(key);
  std::int64_t sum = 0;
  std::from_chars(old.data(), old.data() + old.size(), sum);
  sum += amount;
  put(key, std::to_string(sum));
  return sum;
}

std::string Contents::compare_set(const std::string& key, const std::string& expected,
                                  const std::string& wanted) {
  const std::scoped_lock lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end() && !expected.empty()) return expected;
  if (found != values_.end() && found->second != expected) return found->second;
  put(key, wanted);
  return wanted;
}

bool Contents::remove(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  bytes_ -= key.size() + found->second.size();
  values_.erase(found);
  return true;
}

bool Contents::has(const std::vector<std::string>& keys) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::all_of(keys, [&](const std::string& key) { return values_.contains(key); });
}

std::size_t Contents::count() const {
  const std::scoped_lock lock(mutex_);
  return values_.size();
}

std::string Contents::at(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? "" : found->second;
}

void Contents::put(const std::string& key, std::string value) {
  const auto found = values_.find(key);
  const std::size_t old = found == values_.end() ? 0 : key.size() + found->second.size();
  if (bytes_ - old + key.size() + value.size() > most_bytes_) throw ProtocolError("the store is full");
  bytes_ += key.size() + value.size() - old;
  values_.insert_or_assign(key, std::move(value));
}

}  // namespace runner::store
