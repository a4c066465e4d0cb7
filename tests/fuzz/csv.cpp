// Tables: never a crash; and what is read, written in quotes and read again, is the same.
#include <cstdint>
#include <cstdlib>

#include "components/datasets/read/csv_reader.cpp"  // all of the parser: it needs no LibTorch
#include "registry/files/io_error.hpp"

namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(std::string_view text, const runner::CsvFormat& format) {
  runner::CsvReader reader(text, "fuzz.csv", format);
  Rows rows;
  while (reader.next()) rows.emplace_back(reader.values().begin(), reader.values().end());
  return rows;
}

std::string written(const Rows& rows, char separator) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += separator;
      text += '"';
      for (const char letter : row[i]) text += letter == '"' ? "\"\"" : std::string(1, letter);
      text += '"';
    }
    text += '\n';
  }
  return text;
}

}  // namespace

// The first byte chooses the format.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const runner::CsvFormat format{.separator = ",;\t|"[data[0] % 4],
                                 .trim = (data[0] & 4) != 0,
                                 .comment = (data[0] & 8) != 0 ? "#" : ""};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const Rows rows = rows_of(text, format);
    if (rows_of(written(rows, format.separator), format) != rows) std::abort();
  } catch (const runner::IoError& error) {
    if (std::string_view(error.what()).find("fuzz.csv:") == std::string_view::npos) std::abort();
  }
  return 0;
}
