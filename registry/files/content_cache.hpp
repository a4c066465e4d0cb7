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
  std::shared_ptr<const void> owner;  // keeps the bytes alive
};

// A folder of files that take long to compute and can be computed again; the name of each is a hash of its
// inputs. Several processes may use it at once. If it exceeds its size, the least recently used files are
// removed.
class ContentCache {
 public:
  using Make = std::function<std::vector<std::uint8_t>()>;

  // If `folder` is empty, nothing is cached.
  ContentCache(std::filesystem::path folder, std::uintmax_t most_bytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // The cached file with this name. If there is none, one process creates it while others that need it wait.
  // If the file cannot be written, a warning is logged and the result is in memory only.
  CachedBytes get(const std::string& name, const Make& make) const;

 private:
  std::optional<CachedBytes> find(const std::string& name) const;
  void keep(const std::string& name, std::span<const std::uint8_t> bytes) const;
  void remove_oldest(const std::string& except) const;

  const std::filesystem::path folder_;
  const std::uintmax_t most_bytes_;
};

}  // namespace runner
