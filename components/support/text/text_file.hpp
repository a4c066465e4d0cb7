#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "components/support/io/mapped_file.hpp"

namespace runner {

// The text of a file, mapped; or of all *.txt files of a folder, in order of their names, one after the
// other.
class TextFile {
 public:
  // Throws DataError where it is missing, cannot be read or is empty.
  explicit TextFile(const std::filesystem::path& path);
  static TextFile generated();  // sentences that need no file

  std::string_view text() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  TextFile() = default;

  std::filesystem::path path_;
  MappedFile mapped_;
  std::string joined_;
};

}  // namespace runner
