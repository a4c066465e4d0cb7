#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace runner {

// Size and checksums of a file when it was written. SHA-256 is for the user's own tools. The other checksum,
// which is verified before a file is used, is many times faster: the XXH3 (128 bits) of the XXH3s of its
// pieces of 4 MiB, which several threads can compute at the same time.
struct WrittenFile {
  std::uint64_t size = 0;
  std::string sha256 = {}, xxh3_of_pieces = {};
};

// Computes a WrittenFile from the bytes of a file, given in order.
class WrittenFileDigest {
 public:
  WrittenFileDigest();
  ~WrittenFileDigest();

  void update(std::span<const std::byte> bytes);
  WrittenFile result();  // call it once, at the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

WrittenFile written_file(std::string_view text);                   // a file with this text
WrittenFile read_written_file(const std::filesystem::path& path);  // throws IoError
// Uses all cores that the process may use. Throws IoError.
std::string xxh3_of_pieces(const std::filesystem::path& path);

std::uint64_t xxh3_of(std::string_view text);  // 64 bits

}  // namespace runner
