#include "components/datasets/columns/table_part.hpp"

#include <algorithm>
#include <map>

#include "components/datasets/read/json_rows.hpp"
#include "components/datasets/stratified_split.hpp"
#include "registry/base/ascii.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

std::string separator_text(char separator) {
  return separator == '\t' ? "tabs" : in_quotes(std::string(1, separator));
}

void require_separator(const RowReader& reader, const std::string& name, const TableFormat& format) {
  if (reader.values().size() != 1) return;
  for (const char other : {',', ';', '\t', '|'}) {
    if (other == format.csv.separator || reader.values()[0].find(other) == std::string_view::npos) continue;
    throw IoError(name + ":" + std::to_string(reader.line()) + ": expected values separated by " +
                  separator_text(format.csv.separator) + ", but found " + separator_text(other) +
                  ". Set dataset.separator = " + (other == '\t' ? "\"tab\"" : separator_text(other)) + ".");
  }
}

void require_different(const std::vector<std::string>& columns, const std::string& name) {
  std::vector<std::string> sorted = columns;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return;
  throw IoError(name + ": two columns are called " + in_quotes(*twice) +
                (twice->empty() ? ". If a line before the table is a title, skip it: dataset.skip_lines = 1. "
                                  "Otherwise name the columns;"
                                : ". Rename one;") +
                " a dataset \"csv\" can also name them all, with dataset.columns and dataset.header = true.");
}

}  // namespace

bool TableFormat::is_missing(std::string_view value) const {
  if (std::ranges::find(missing, value) != missing.end()) return true;
  const bool may_be_blank =
      !value.empty() && (value.front() == ' ' || value.front() == '\t' || (value.front() & 0x80) != 0);
  return may_be_blank && usual_signs(value).empty() && is_missing("");
}

TableFormat TableFormat::with_null() const {
  TableFormat changed = *this;
  if (!is_missing("")) changed.missing.emplace_back();
  return changed;
}

// They may be names of categories: only among numbers they are surely none.
bool TableFormat::is_missing_number(std::string_view value) const {
  static constexpr std::array<std::string_view, 20> marks{
      "-",  "--",   "\u2013", "\u2014", ".",       "..",      "*",       "nd",    "n.d.",    "n/d",
      "na", "n.a.", "none",   "nil",    "missing", "unknown", "#value!", "#ref!", "#div/0!", "#num!"};
  if (is_missing(value)) return true;
  constexpr std::size_t longest = 16;
  if (!usual_marks || value.empty() || value.size() > longest || is_digit(value.front())) return false;
  if (value.size() > 1 && is_digit(value[1])) return false;  // "-5"
  return std::ranges::find(marks, ascii_lower(value)) != marks.end();
}

std::unique_ptr<RowReader> table_rows(std::string_view text, const std::string& name,
                                      const TableFormat& format, const std::vector<std::string>& known) {
  require_text(text, name);
  if (is_json_lines(text)) return std::make_unique<JsonRows>(text, name, known);
  auto made = std::make_unique<CsvReader>(text, name, format.csv);
  CsvReader& reader = *made;
  std::vector<std::string> columns = format.columns;
  if (format.header) {
    if (!reader.next()) throw IoError(name + " has no rows, not even a header.");
    if (columns.empty()) {
      require_separator(reader, name, format);
      columns.assign(reader.values().begin(), reader.values().end());
    }
    require_different(columns, name);
  }
  reader.expect(std::move(columns));
  return made;
}

TablePart::TablePart(const std::filesystem::path& file, const TableFormat& format)
    : file_(std::make_shared<FileText>(file)), format_(format) {
  if (is_json_lines(file_->text())) format_ = format_.with_null();
  const auto reader = table_rows(file_->text(), name(), format_);
  columns_ = reader->columns();
  while (reader->next()) ++size_;
  if (size_ == 0) throw IoError(name() + " has no rows.");
}

TablePart::TablePart(const TablePart& whole, std::vector<bool> chosen)
    : file_(whole.file_),
      format_(whole.format_),
      columns_(whole.columns_),
      chosen_(std::move(chosen)),
      size_(std::ranges::count(chosen_, true)) {}

// The file is mapped: another program that writes into it changes what is read here.
void TablePart::each(const std::function<void(const RowReader& row)>& see) const {
  const auto reader = table_rows(file_->text(), name(), format_, columns_);
  std::int64_t row = 0;
  const auto require = [&](bool unchanged) {
    if (!unchanged) throw IoError(name() + " was changed while it was being read. Start again.");
  };
  require(reader->columns() == columns_);
  for (; reader->next(); ++row) {
    require(row < rows_in_file());
    if (chosen_.empty() || chosen_[static_cast<std::size_t>(row)]) see(*reader);
  }
  require(row == rows_in_file());
}

std::pair<TablePart, TablePart> TablePart::split(double share, std::uint64_t seed,
                                                 std::optional<std::size_t> by) const {
  if (size_ < 2) throw IoError(name() + " has a single row, so it cannot be split.");
  std::vector<std::int64_t> labels, counts;
  std::map<std::string, std::int64_t, std::less<>> known;
  each([&](const RowReader& row) {
    const std::string_view value = by ? row.values()[*by] : "";
    auto found = known.find(value);
    if (found == known.end()) found = known.emplace(value, std::ssize(known)).first;
    labels.push_back(found->second);
    counts.resize(known.size());
    ++counts[static_cast<std::size_t>(found->second)];
  });
  std::vector<std::int64_t> rows, strata;  // only of values that occur more than once
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (counts[static_cast<std::size_t>(labels[row])] < 2) continue;
    rows.push_back(static_cast<std::int64_t>(row));
    strata.push_back(labels[row]);
  }
  std::vector<bool> first(labels.size(), true), second(labels.size(), false);
  for (const std::int64_t index : stratified_split(strata, share, seed).eval) {
    const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(index)]);
    first[row] = false;
    second[row] = true;
  }
  return {TablePart(*this, std::move(first)), TablePart(*this, std::move(second))};
}

}  // namespace runner
