#pragma once

#include <deque>

#include "components/datasets/read/row_reader.hpp"
#include "registry/files/json_lines.hpp"

namespace runner {

// Objects of JSON lines, or of an array, as rows: a column for each key of any object, in the order in which
// they appear. A key that an object lacks, and null, is an empty value; true and false are words; lists and
// objects are their JSON.
class JsonRows final : public RowReader {
 public:
  // The columns, if they are known, save a pass over the text.
  JsonRows(std::string_view text, const std::string& file, std::vector<std::string> columns = {});

  bool next() override;

 private:
  JsonLines lines_;
  std::vector<std::string> texts_;  // of this row, those that are not parts of its object
};

}  // namespace runner
