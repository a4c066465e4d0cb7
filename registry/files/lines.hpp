#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "registry/files/open_file.hpp"

namespace runner {

// A longer line is no record of a run.
constexpr std::size_t longest_line = std::size_t{64} << 20;

// The complete lines of a file that may come from anywhere, from the first to the last. Throws IoError if one
// is longer than the limit.
class Lines {
 public:
  explicit Lines(const OpenFile& file, std::uint64_t begin = 0) : file_(file), read_(begin), after_(begin) {}

  std::optional<std::string_view> next() &;       // without its line end; valid until the next call
  std::uint64_t after() const { return after_; }  // where the line after this one begins

 private:
  bool read_more();

  const OpenFile& file_;
  std::uint64_t read_, after_;  // offsets in the file
  std::string waiting_;
  std::size_t begin_ = 0, searched_ = 0;  // in `waiting_`: the next line, and what holds no line end
};

[[noreturn]] void refuse_long_line(const std::filesystem::path& path);  // throws IoError

}  // namespace runner
