#include "components/datasets/read/labelled_sentences.hpp"

#include <algorithm>

#include "components/contract/data_error.hpp"
#include "components/datasets/columns/learn_columns.hpp"
#include "components/datasets/read/file_text.hpp"
#include "components/datasets/read/separator.hpp"
#include "components/tokenizers/code_points.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/json_lines.hpp"
#include "registry/files/text_encoding.hpp"

namespace runner {

namespace {

std::string read_all(const std::filesystem::path& path, TextEncoding encoding) {
  const FileText file(path);
  const std::string_view bytes = file.text();
  require_text(bytes, path);
  if (encoding == TextEncoding::latin1) return from_latin1(bytes);
  const bool western = likely_content(bytes) == LikelyContent::western;
  check_utf8(bytes, path,
             western ? "If it is Latin-1, set dataset.encoding = \"latin-1\"" : encoding_remedy(bytes));
  return std::string(without_byte_order_mark(bytes));
}

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

std::int64_t index_of(const std::vector<std::string>& classes, std::string_view label) {
  const auto found = std::ranges::lower_bound(classes, label);
  return found != classes.end() && *found == label ? found - classes.begin() : -1;
}

}  // namespace

LabelledSentences LabelledSentences::selection(const std::vector<std::int64_t>& indices) const {
  LabelledSentences chosen{{}, {}, classes};
  for (const std::int64_t index : indices) {
    chosen.texts.push_back(texts[static_cast<std::size_t>(index)]);
    chosen.labels.push_back(labels[static_cast<std::size_t>(index)]);
  }
  return chosen;
}

LabelledSentences read_class_files(const std::map<std::string, std::filesystem::path>& files,
                                   TextEncoding encoding) {
  LabelledSentences read;
  for (const auto& [name, path] : files) {
    const auto label = static_cast<std::int64_t>(read.classes.size());
    const std::size_t before = read.texts.size();
    read.classes.push_back(name);
    try {
      const std::string text = read_all(path, encoding);
      for (std::string_view rest = text; !rest.empty();) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (blank(line)) continue;
        read.texts.emplace_back(line);
        read.labels.push_back(label);
      }
    } catch (const IoError& error) {
      throw DataError(error.what());
    }
    if (read.texts.size() == before) throw DataError(path.string() + " has no sentences.");
  }
  return read;
}

namespace {

std::unique_ptr<RowReader> sentence_rows(const std::string& content, const std::filesystem::path& file,
                                         const SentenceTable& table) {
  TableFormat format;
  format.header = table.columns.empty();
  format.columns = table.columns;
  format.csv.skip_lines = table.skip_lines;
  const bool tabs =
      ending_of(file) == ".tsv" && content.substr(0, content.find('\n')).find('\t') != std::string::npos;
  format.csv.separator = tabs ? '\t' : find_separator(content, format);
  auto rows = table_rows(content, file.string(), format);
  if (is_json_lines(content) && (!table.columns.empty() || table.skip_lines > 0))
    throw IoError(file.string() + " has JSON, whose keys name the columns: dataset." +
                  (table.columns.empty() ? "skip_lines" : "columns") + " has no effect. Remove it.");
  return rows;
}

}  // namespace

std::vector<std::string> read_texts(const std::filesystem::path& file, const SentenceTable& table,
                                    TextEncoding encoding) {
  std::vector<std::string> texts;
  try {
    const std::string content = read_all(file, encoding);
    const auto rows = sentence_rows(content, file, table);
    const std::size_t text = find_column(rows->columns(), table.text, file.string());
    while (rows->next()) texts.emplace_back(rows->values()[text]);
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
  return texts;
}

LabelledSentences read_sentence_table(const std::filesystem::path& file, const SentenceTable& table,
                                      TextEncoding encoding, const std::vector<std::string>& classes) {
  LabelledSentences read;
  std::vector<std::string> labels;
  try {
    const std::string content = read_all(file, encoding);
    const auto reader = sentence_rows(content, file, table);
    RowReader& rows = *reader;
    const std::size_t text = find_column(rows.columns(), table.text, file.string()),
                      label = find_column(rows.columns(), table.label, file.string());
    while (rows.next()) {
      if (blank(rows.values()[text])) rows.fail(text, "there is no text");
      if (blank(rows.values()[label])) rows.fail(label, "there is no label");
      if (!classes.empty() && index_of(classes, rows.values()[label]) < 0) {
        rows.fail(label, in_quotes(rows.values()[label]) + " is not a class of the training set");
      }
      read.texts.emplace_back(rows.values()[text]);
      labels.emplace_back(rows.values()[label]);
    }
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
  if (labels.empty()) throw DataError(file.string() + " has no rows.");
  read.classes = classes;
  if (classes.empty()) {
    read.classes = labels;
    std::ranges::sort(read.classes);
    const auto repeated = std::ranges::unique(read.classes);
    read.classes.erase(repeated.begin(), repeated.end());
  }
  for (const std::string& label : labels) read.labels.push_back(index_of(read.classes, label));
  return read;
}

}  // namespace runner
