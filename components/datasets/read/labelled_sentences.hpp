#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace runner {

struct LabelledSentences {
  std::vector<std::string> texts = {};  // UTF-8, not blank
  std::vector<std::int64_t> labels = {};
  std::vector<std::string> classes = {};

  LabelledSentences selection(const std::vector<std::int64_t>& indices) const;
};

enum class TextEncoding { utf8, latin1 };

// The columns of a table with sentences and their classes.
struct SentenceTable {
  std::string text, label;                // columns
  std::vector<std::string> columns = {};  // names of all columns, if the first row does not have them
  std::int64_t skip_lines = 0;            // before the table
};

// These functions throw DataError with the file and the line.
// One file per class, one sentence per line; blank lines are skipped.
LabelledSentences read_class_files(const std::map<std::string, std::filesystem::path>& files,
                                   TextEncoding encoding);
// JSON lines, or comma-separated values and the like: the separator is detected; a file that ends in .tsv has
// tabs. The classes are the sorted labels; if `classes` is given, other labels are an error.
LabelledSentences read_sentence_table(const std::filesystem::path& file, const SentenceTable& table,
                                      TextEncoding encoding, const std::vector<std::string>& classes = {});
// Only the texts, of a table that need not have classes.
std::vector<std::string> read_texts(const std::filesystem::path& file, const SentenceTable& table,
                                    TextEncoding encoding);

}  // namespace runner
