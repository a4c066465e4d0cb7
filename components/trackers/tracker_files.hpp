#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "registry/files/sha256.hpp"

namespace runner {

// Eight hexadecimal digits, to distinguish long names that were cut off.
inline std::string short_digest(std::string_view text) { return sha256_hex(text).substr(0, 8); }

// A file name for this text: characters that may be special in a file system become "_", and long texts are
// cut off, with room for a suffix. A text in another script, of which only "_" would be left, gets a digest.
inline std::string file_name_of(std::string_view text) {
  std::string name;
  bool digest = false;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    name += plain ? c : '_';
    digest = digest || static_cast<unsigned char>(c) >= 0x80;
  }
  constexpr std::size_t longest = 120;
  if (digest || name.size() > longest) name = name.substr(0, longest - 9) + "-" + short_digest(text);
  return name.empty() || name.starts_with('.') ? "_" + name : name;
}

// Whether there is nothing to continue: a disk that is full leaves an empty file.
inline bool is_missing_or_empty(const std::filesystem::path& path) {
  return !std::filesystem::exists(path) || std::filesystem::is_empty(path);
}

// Writes a whole file, and creates its folders. Throws a std::runtime_error that names the file.
inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw std::runtime_error("Cannot write " + path.string() + ".");
}

}  // namespace runner
