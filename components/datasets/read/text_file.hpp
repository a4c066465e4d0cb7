#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "components/datasets/read/file_text.hpp"

namespace runner {

// The text of a file, mapped into memory, or of all *.txt files of a folder, or its *.jsonl files if it has
// none, joined in the order of their names. Each may be compressed with gzip. Of JSON lines, the texts of one
// column, each from a new line.
class TextFile {
 public:
  // Throws DataError if it is missing, cannot be read or is empty. With `raw`, any bytes are a text.
  TextFile(const std::filesystem::path& path, const std::optional<std::string>& column, bool raw);
  static TextFile generated();  // sentences that need no file

  std::string_view text() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  TextFile() = default;

  std::filesystem::path path_;
  void add_texts(std::string_view json, const std::filesystem::path& file, const std::string& column);

  FileText whole_;
  std::string joined_;
};

}  // namespace runner
