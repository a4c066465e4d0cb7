#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace runner {

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

}  // namespace runner
