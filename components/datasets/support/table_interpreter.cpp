#include "components/datasets/support/table_interpreter.hpp"

#include <algorithm>

#include "components/support/io/io_error.hpp"
#include "registry/log.hpp"

namespace runner {

namespace {

std::vector<std::string> first_row(const std::string& file, const TableFormat& format) {
  const MappedFile mapped(file);
  const auto bytes = mapped.bytes();
  CsvReader reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file, format.csv);
  reader.next();
  return {reader.values().begin(), reader.values().end()};
}

// Where the recipe names the columns, a file may still begin with their names, and may lack the target, which
// the number of values alone tells.
void adapt_to(const std::vector<std::string>& first, const std::string& target, TableFormat& format) {
  const auto names_column = [&](const std::string& value) {
    return std::ranges::find(format.columns, value) != format.columns.end();
  };
  const bool complete = first.size() + 1 >= format.columns.size();
  if (!format.header && complete && std::ranges::all_of(first, names_column)) {
    format.header = true;
    format.columns.clear();
  } else if (first.size() + 1 == format.columns.size()) {
    std::erase(format.columns, target);
  }
}

}  // namespace

Batch TableInterpreter::read(std::span<const std::string> inputs) const {
  EncodedRows rows;
  try {
    for (const std::string& input : inputs) {
      std::filesystem::is_regular_file(input) ? add_file(input, rows) : add_row(input, rows);
    }
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
  const std::int64_t count = rows.size;
  const TableSplit split(columns_, how_, std::move(rows));
  Batch batch = split.allocate(count, torch::MemoryFormat::Contiguous);
  std::vector<ExampleRef> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].index = static_cast<std::int64_t>(i);
  split.read(all, batch, 0);
  batch.target.reset();
  return batch;
}

void TableInterpreter::add_file(const std::string& file, EncodedRows& rows) const {
  TableFormat format = format_;
  if (!format.columns.empty()) adapt_to(first_row(file, format), columns_.target, format);
  const TablePart part(file, format);
  RowEncoder encoder(columns_, format, "");
  encoder.begin(part.columns(), file, /*with_target=*/false);
  part.each([&](const CsvReader& row) { encoder.add(row, rows); });
}

void TableInterpreter::add_row(const std::string& text, EncodedRows& rows) const {
  CsvReader row(text, "row", format_.csv);
  std::vector<std::string> names = columns_.file;
  const bool found = row.next();
  if (row.values().size() + 1 == names.size()) std::erase(names, columns_.target);
  if (!found || row.values().size() != names.size()) {
    throw IoError(
        log::format("\"{}\" is neither a file nor a row: a row has {} values "
                    "separated by \"{}\", one for each column but the target.",
                    text, columns_.file.size() - 1, format_.csv.separator));
  }
  row.expect(names);
  RowEncoder encoder(columns_, format_, "");
  encoder.begin(names, "The row", /*with_target=*/false);
  encoder.add(row, rows);
}

}  // namespace runner
