#pragma once

#include <filesystem>
#include <optional>

namespace runner {

// The path of a file relative to a folder; nothing if the file is elsewhere. Only compares the names: a disk
// may hang.
inline std::optional<std::filesystem::path> path_below(const std::filesystem::path& folder,
                                                       const std::filesystem::path& file) {
  const auto plain = [](const std::filesystem::path& path) {
    return std::filesystem::absolute(path).lexically_normal();
  };
  auto relative = plain(file).lexically_relative(plain(folder));
  if (relative.empty() || *relative.begin() == "..") return std::nullopt;
  return relative;
}

}  // namespace runner
