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

// Where the sentences and their classes are in a table.
struct SentenceTable {
  std::string text, label;                // columns
  std::vector<std::string> columns = {};  // names of all, where the file does not have them in its first row
};

// All of these throw DataError with the file and the line.
// A file for each class, a sentence a line; blank lines are passed over.
LabelledSentences read_class_files(const std::map<std::string, std::filesystem::path>& files,
                                   TextEncoding encoding);
// What separates the values is recognised; a file that ends in .tsv has tabs. Classes are the labels in order
// of their names; where they are given, there can be no others.
LabelledSentences read_sentence_table(const std::filesystem::path& file, const SentenceTable& table,
                                      TextEncoding encoding, const std::vector<std::string>& classes = {});

}  // namespace runner
