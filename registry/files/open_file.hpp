#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "registry/files/io_error.hpp"

namespace runner {

// A regular file opened for reading. Throws IoError that names the path if it is anything else.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path);
  // A file below a folder that may come from anywhere: no link leads out of it.
  OpenFile(const std::filesystem::path& folder, const std::filesystem::path& name);
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  int descriptor() const { return descriptor_; }
  std::size_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

  // Fills `into` with the bytes from `position` on; throws IoError if the file has fewer. Several threads may
  // call it at once.
  void read_at(std::size_t position, std::span<std::uint8_t> into) const;

 private:
  void require_regular();

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

std::string last_system_error();  // the text of errno

// Reads the whole file into `into`, whose memory is reused: cheaper than mapping many small files.
// Throws IoError if it has more bytes than `most`.
void read_file(const std::filesystem::path& path, std::vector<std::uint8_t>& into, std::size_t most);
std::string read_file(const std::filesystem::path& path, std::size_t most);

}  // namespace runner
