#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace runner {

struct CachedBytes {
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const void> owner;  // keeps them
};

// A folder of files that take long to make and can be made again: each is named after what it is made from.
// Several processes may use it at once. It stays below a size: files that were not used for longest go first.
class ContentCache {
 public:
  using Make = std::function<std::vector<std::uint8_t>()>;

  // No folder: nothing is kept.
  ContentCache(std::filesystem::path folder, std::uintmax_t most_bytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // What is kept under this name; or else made now, by one process while the others that ask wait. Where the
  // file cannot be written, a warning says so and what was made is in memory only.
  CachedBytes get(const std::string& name, const Make& make) const;

 private:
  std::optional<CachedBytes> find(const std::string& name) const;
  void keep(const std::string& name, std::span<const std::uint8_t> bytes) const;
  void remove_oldest(const std::string& except) const;

  const std::filesystem::path folder_;
  const std::uintmax_t most_bytes_;
};

}  // namespace runner
