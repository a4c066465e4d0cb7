#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace runner {

// What a file was when it was written. SHA-256 is for the user's own tools; XXH3 is several times faster, and
// is what a file is compared with before it is used.
struct WrittenFile {
  std::uint64_t size = 0;
  std::string sha256 = {}, xxh3 = {};
};

// Collects it from the bytes of a file, in their order.
class WrittenFileDigest {
 public:
  WrittenFileDigest();
  ~WrittenFileDigest();

  void update(std::span<const std::byte> bytes);
  WrittenFile result();  // nothing can be added after it

 private:
  struct State;
  std::unique_ptr<State> state_;
};

WrittenFile written_file(std::string_view text);                   // a file with this text
WrittenFile read_written_file(const std::filesystem::path& path);  // throws IoError
std::uint64_t xxh3_of(std::string_view text);                      // 64 bits
std::string xxh3_of_file(const std::filesystem::path& path);  // 128 bits, as `xxhsum -H2`; throws IoError

}  // namespace runner
