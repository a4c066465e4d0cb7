#include "components/datasets/read/text_file.hpp"

#include <algorithm>
#include <vector>

#include "components/contract/data_error.hpp"
#include "components/tokenizers/generated_text.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/text_encoding.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> text_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".txt") files.push_back(entry.path());
  if (files.empty()) throw DataError("The folder " + folder.string() + " has no *.txt files.");
  std::ranges::sort(files);
  return files;
}

}  // namespace

TextFile::TextFile(const fs::path& path) : path_(path) {
  try {
    if (!fs::is_directory(path)) {
      mapped_ = MappedFile(path);
      return;
    }
    for (const fs::path& file : text_files(path)) {
      const MappedFile mapped(file);
      if (!joined_.empty() && !joined_.ends_with('\n')) joined_ += '\n';  // or two words become one
      joined_ += without_byte_order_mark(mapped.text());
    }
  } catch (const IoError& error) {
    throw DataError(error.what());
  } catch (const fs::filesystem_error& error) {
    throw DataError("Cannot read " + path.string() + ": " + error.code().message() + ".");
  }
}

TextFile TextFile::generated() {
  TextFile file;
  file.path_ = "the generated text";
  file.joined_ = generated_text();
  return file;
}

std::string_view TextFile::text() const {
  return joined_.empty() ? without_byte_order_mark(mapped_.text()) : joined_;
}

}  // namespace runner
