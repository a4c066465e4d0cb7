#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace runner {

// The lines of a text file from the last to the first, without reading more of it than needed. A file that
// does not exist has no lines.
class BackwardLines {
 public:
  explicit BackwardLines(const std::filesystem::path& path, std::uint64_t begin = 0);

  struct Line {
    std::uint64_t offset = 0;
    std::string_view text;  // without its line end; until the next call
  };
  std::optional<Line> next() &;  // of an object with a name: a line is a part of it

 private:
  bool read_more();

  std::ifstream in_;
  std::uint64_t begin_,
      start_;             // of the file: where lines begin to count, and where what is in memory begins
  std::string waiting_;   // read; the line that was returned last is at its end
  std::size_t left_ = 0;  // of it, what has not been returned
};

}  // namespace runner
