#pragma once

#include <filesystem>

namespace runner {

// True only if there is no such file. One that cannot be examined is not missing: opening it reports why.
inline bool is_missing(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found;
}

}  // namespace runner
