#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace runner::store {

// The keys and values of a store, with c10d's semantics. Thread-safe. Throws ProtocolError if it is full.
class Contents {
 public:
  explicit Contents(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::optional<std::string> get(const std::string& key) const;
  void set(const std::string& key, std::string value);
  void append(const std::string& key, const std::string& more);
  // Numbers are stored as text, as in c10d, so get() can read them.
  std::int64_t add(const std::string& key, std::int64_t amount);
  // Returns the value afterwards. A missing key is set if `expected` is empty; otherwise returns `expected`.
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& wanted);
  bool remove(const std::string& key);
  bool has(const std::vector<std::string>& keys) const;
  std::size_t count() const;

 private:
  std::string at(const std::string& key) const;
  void put(const std::string& key, std::string value);

  mutable std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
  const std::size_t most_bytes_;
};

}  // namespace runner::store
