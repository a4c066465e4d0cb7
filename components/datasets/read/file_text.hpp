#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "registry/files/mapped_file.hpp"

namespace runner {

// The text of a file: mapped into memory, or unpacked there if it is compressed with gzip.
class FileText {
 public:
  FileText() = default;
  explicit FileText(const std::filesystem::path& path);  // throws IoError

  std::string_view text() const { return packed_ ? std::string_view(unpacked_) : mapped_.text(); }
  const std::filesystem::path& path() const { return mapped_.path(); }

 private:
  MappedFile mapped_;
  bool packed_ = false;
  std::string unpacked_;
};

// Throws IoError if these are the bytes of a file that is known to hold something else than `wanted`, such as
// a spreadsheet or Parquet, with what it is and how to convert it.
void require_text(std::string_view bytes, const std::filesystem::path& path,
                  std::string_view wanted = "text");

// The ending of its name, in lower case and without .gz: ".csv" of "Table.CSV.gz".
std::string ending_of(const std::filesystem::path& path);

}  // namespace runner
