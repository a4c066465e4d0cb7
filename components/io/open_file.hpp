#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "components/io/io_error.hpp"

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

 private:
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

std::string last_system_error();  // what errno says, in words

// The whole file into `into`, whose memory is reused: for many small files, cheaper than mapping each.
void read_file(const std::filesystem::path& path, std::vector<std::uint8_t>& into);

}  // namespace runner
