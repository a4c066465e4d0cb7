#pragma once

#include <filesystem>

namespace runner {

// By its name.
inline bool is_hidden(const std::filesystem::path& path) { return path.filename().string().starts_with('.'); }

}  // namespace runner
