#include "components/datasets/read/text_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "components/contract/data_error.hpp"
#include "components/tokenizers/generated_text.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/json_lines.hpp"
#include "registry/files/text_encoding.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> text_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const char* ending : {".txt", ".jsonl"}) {
    if (!files.empty()) break;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_regular_file() && ending_of(entry.path()) == ending) files.push_back(entry.path());
  }
  if (files.empty())
    throw DataError("The folder " + folder.string() + " has no *.txt files, and no *.jsonl files either.");
  std::ranges::sort(files);
  return files;
}

}  // namespace

TextFile::TextFile(const fs::path& path, const std::optional<std::string>& column, bool raw) : path_(path) {
  const auto holds_json = [&](const FileText& file) {
    if (raw && !column) return false;
    require_text(file.text(), file.path());
    if (is_json_lines(file.text())) return true;
    if (column)
      throw IoError(file.path().string() +
                    " has no JSON lines, whose column dataset.text names. Remove that setting.");
    return false;
  };
  try {
    if (!fs::is_directory(path)) {
      whole_ = FileText(path);
      if (!holds_json(whole_)) return;
      add_texts(whole_.text(), path, column.value_or("text"));
      whole_ = {};
      return;
    }
    for (const fs::path& place : text_files(path)) {
      const FileText file(place);
      if (holds_json(file)) {
        add_texts(file.text(), place, column.value_or("text"));
        continue;
      }
      if (!joined_.empty() && !joined_.ends_with('\n')) joined_ += '\n';  // or two words become one
      joined_ += without_byte_order_mark(file.text());
    }
  } catch (const IoError& error) {
    throw DataError(error.what());
  } catch (const fs::filesystem_error& error) {
    throw DataError("Cannot read " + path.string() + ": " + error.code().message() + ".");
  }
}

void TextFile::add_texts(std::string_view json, const fs::path& file, const std::string& column) {
  JsonLines rows(json, file.string());
  std::size_t texts = 0;
  std::set<std::string> keys;
  while (rows.next()) {
    const auto text = rows.object().find(column);
    if (text == rows.object().end() || text->is_null()) {
      for (const auto& [key, value] : rows.object().items()) keys.insert(key);
      continue;
    }
    const auto* words = text->get_ptr<const std::string*>();
    if (!words)
      throw IoError(file.string() + ":" + std::to_string(rows.line()) + ": " + in_quotes(column) +
                    " is not a text.");
    if (!joined_.empty() && !joined_.ends_with('\n')) joined_ += '\n';
    joined_ += *words;
    ++texts;
  }
  if (texts == 0)
    throw IoError(file.string() + " has no texts in " + in_quotes(column) + "; its keys are " +
                  listed({keys.begin(), keys.end()}) + ". Set dataset.text to the one with the text.");
}

TextFile TextFile::generated() {
  TextFile file;
  file.path_ = "the generated text";
  file.joined_ = generated_text();
  return file;
}

std::string_view TextFile::text() const {
  return joined_.empty() ? without_byte_order_mark(whole_.text()) : joined_;
}

}  // namespace runner
