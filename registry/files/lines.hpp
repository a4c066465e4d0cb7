#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
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

// The lines of a text file from the last to the first, without reading more of it than needed. A file that
// does not exist, or is not a regular file, has no lines. Throws IoError if a line is too long.
class BackwardLines {
 public:
  explicit BackwardLines(const std::filesystem::path& path, std::uint64_t begin = 0);

  struct Line {
    std::uint64_t offset = 0;
    std::string_view text;  // without its line end; valid until the next call
  };
  std::optional<Line> next() &;  // not for temporaries: the line points into this object

 private:
  bool read_more();

  std::filesystem::path path_;
  std::ifstream in_;
  std::uint64_t begin_,
      start_;             // offsets in the file: of the first line to return, and of `waiting_`
  std::string waiting_;   // read from the file; ends with the line that was returned last
  std::size_t left_ = 0;  // bytes of `waiting_` that have not been returned
};

[[noreturn]] void refuse_long_line(const std::filesystem::path& path);  // throws IoError

}  // namespace runner
