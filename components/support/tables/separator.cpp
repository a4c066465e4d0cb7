#include "components/support/tables/separator.hpp"

#include <algorithm>

#include "components/support/io/io_error.hpp"

namespace runner {

namespace {

constexpr std::size_t looked_at = 1 << 16;  // bytes
constexpr int rows = 20;

// How many values every row has; 0 where they differ, or cannot be read.
std::size_t columns_in(std::string_view text, const TableFormat& format) {
  try {
    CsvReader reader(text, "", format.csv);
    std::size_t columns = 0;
    for (int row = 0; row < rows && reader.next(); ++row) {
      if (row > 0 && reader.values().size() != columns) return 0;
      columns = reader.values().size();
    }
    return columns;
  } catch (const IoError&) {
    return 0;
  }
}

}  // namespace

char find_separator(const std::filesystem::path& file, TableFormat format) {
  const MappedFile mapped(file);
  std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  if (text.size() > looked_at) text = text.substr(0, text.rfind('\n', looked_at) + 1);
  char best = ',';
  std::size_t most = 1;
  for (const char candidate : {',', ';', '\t', '|'}) {
    format.csv.separator = candidate;
    const std::size_t columns = columns_in(text, format);
    if (!format.columns.empty() && columns == format.columns.size()) return candidate;
    if (most == 1 && columns > most) {
      most = columns;
      best = candidate;
    }
  }
  return best;
}

}  // namespace runner
