#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "registry/files/mapped_file.hpp"

namespace runner {

// The text of a file, mapped into memory, or of all *.txt files of a folder, joined in the order of their
// names.
class TextFile {
 public:
  // Throws DataError if it is missing, cannot be read or is empty.
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
