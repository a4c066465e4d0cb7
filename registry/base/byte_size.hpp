#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace runner {

// An amount of memory that carries its unit: "25MB" (powers of 1000) or "25MiB" (powers of 1024).
struct ByteSize {
  std::uint64_t bytes = 0;

  bool operator==(const ByteSize&) const = default;
};

// The size, or what is wrong with the text.
std::variant<ByteSize, std::string> parse_byte_size(std::string_view text);
std::string to_string(const ByteSize& size);      // exact: parses back to the same size
std::string approximately(const ByteSize& size);  // for people: "43.7 MB"

// Two different sizes for one sentence: "43.7 MB" and "1.1 MB", or the exact numbers of bytes if both would
// be rounded to the same text.
std::pair<std::string, std::string> distinguishable(const ByteSize& one, const ByteSize& other);

}  // namespace runner
