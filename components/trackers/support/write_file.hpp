#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace runner {

// A whole file, with the folders it is in. Throws std::runtime_error that names it.
inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw std::runtime_error("Cannot write " + path.string() + ".");
}

}  // namespace runner
