#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace runner {

class Sha256 {
 public:
  Sha256();
  ~Sha256();

  void update(std::span<const std::uint8_t> bytes);
  std::string hex();  // the digest; call it once, at the end

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view bytes);
std::string sha256_of_file(const std::filesystem::path& path);  // throws IoError

}  // namespace runner
