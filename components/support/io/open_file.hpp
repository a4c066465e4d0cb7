#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "components/support/io/io_error.hpp"

namespace runner {

// A regular file opened for reading; every other thing a path can lead to is refused by name.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path);
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  int descriptor() const { return descriptor_; }
  std::size_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

  // Fills `into` from that place on; throws IoError where the file has fewer bytes left. From any
  // thread.
  void read_at(std::size_t position, std::span<std::uint8_t> into) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

std::string last_system_error();  // what errno says, in words

// The whole file into `into`, whose memory is reused: for many small files, cheaper than mapping each.
// Throws IoError where it has more bytes than `most`.
void read_file(const std::filesystem::path& path, std::vector<std::uint8_t>& into, std::size_t most);

}  // namespace runner
