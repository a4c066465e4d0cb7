#include "components/datasets/read/csv_reader.hpp"

#include <algorithm>
#include <utility>

#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/text_encoding.hpp"

namespace runner {

namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char letter) { return static_cast<unsigned char>(letter) >= 0x80; });
}

// LF, CRLF and CR count as one each.
std::int64_t line_ends(std::string_view text) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    count += text[i] == '\n' || (text[i] == '\r' && !text.substr(i + 1).starts_with('\n'));
  }
  return count;
}

std::string without_doubled_quotes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '"') ++i;
  }
  return out;
}

// A wider row means that the file has another separator.
constexpr std::size_t most_values = 250'000;
constexpr std::size_t longest_value = std::size_t{32} << 20;

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string file, CsvFormat format)
    : RowReader(std::move(file)), format_(std::move(format)), rest_(without_byte_order_mark(text)) {
  if (is_bare_utf16(rest_)) throw IoError(file_ + ":1: this is not UTF-8. " + encoding_remedy(rest_) + ".");
  if (format_.skip_lines == 0) pass_separator_line();
  for (std::int64_t line = 0; line < format_.skip_lines; ++line) {
    rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_of("\r\n")));
    pass_line_end();
  }
}

void CsvReader::expect(std::vector<std::string> columns) { columns_ = std::move(columns); }

bool CsvReader::next() {
  values_.clear();
  unescaped_.clear();
  while (!rest_.empty() && pass_line_without_values()) continue;
  if (rest_.empty()) return false;
  row_line_ = line_;
  read_value();
  while (!at_line_end()) {  // at a separator
    rest_.remove_prefix(1);
    read_value();
  }
  pass_line_end();
  if (!columns_.empty() && values_.size() != columns_.size()) require_all_columns();
  first_row_ = columns_.empty();
  return true;
}

bool CsvReader::pass_line_without_values() {
  const std::string_view row = rest_;
  if (format_.trim) pass_spaces();
  const bool comment = !format_.comment.empty() && row.starts_with(format_.comment);
  if (comment) rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_of("\r\n")));
  const bool passed = at_line_end();
  if (passed) {
    pass_line_end();
  } else {
    rest_ = row;
  }
  return passed;
}

void CsvReader::pass_line_end() {
  if (rest_.empty()) return;
  rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
  ++line_;
}

// "sep=;", which spreadsheets write before a table and read as a note.
void CsvReader::pass_separator_line() {
  constexpr std::string_view note = "sep=";
  const std::string_view line = rest_.substr(0, rest_.find_first_of("\r\n"));
  if (!line.starts_with(note) || line.size() != note.size() + 1) return;
  rest_.remove_prefix(line.size());
  pass_line_end();
}

void CsvReader::pass_spaces() {
  std::size_t count = 0;
  while (count < rest_.size() && rest_[count] != format_.separator &&
         (rest_[count] == ' ' || rest_[count] == '\t')) {
    ++count;
  }
  rest_.remove_prefix(count);
}

void CsvReader::read_value() {
  if (format_.trim) pass_spaces();
  const std::int64_t line = line_;
  const std::string_view value = rest_.starts_with('"') ? quoted_value() : bare_value();
  if (value.size() > longest_value)
    fail_at(line, values_.size(),
            "the value has more than " + std::to_string(longest_value >> 20) + " MB: this is not a table");
  if (!is_ascii(value) && !is_utf8(value)) {
    fail_at(line, values_.size(), in_quotes(value) + " is not UTF-8. " + encoding_remedy(value));
  }
  if (values_.size() == most_values) {
    throw IoError(file_ + ":" + std::to_string(line) + ": the row has more than " +
                  std::to_string(most_values) + " values. Is the separator right?");
  }
  values_.push_back(value);
}

std::string_view CsvReader::bare_value() {
  const std::string_view enough = rest_.substr(0, longest_value + 1);
  const auto end = std::ranges::find_if(
      enough, [&](char letter) { return letter == format_.separator || letter == '\n' || letter == '\r'; });
  std::string_view value = rest_.substr(0, static_cast<std::size_t>(end - enough.begin()));
  rest_.remove_prefix(value.size());
  if (format_.trim) value = value.substr(0, value.find_last_not_of(" \t") + 1);
  return value;
}

std::string_view CsvReader::quoted_value() {
  const std::int64_t opened = line_;
  bool doubled = false;
  std::size_t end = 1;
  while (true) {
    end = rest_.find('"', end);
    if (end == std::string_view::npos) {
      fail_at(opened, values_.size(),
              "the quote that opens here is never closed. Close it, or double it if it is part of the value");
    }
    if (!rest_.substr(end + 1).starts_with('"')) break;
    doubled = true;
    end += 2;
  }
  const std::string_view text = rest_.substr(1, end - 1);
  line_ += line_ends(text);
  rest_.remove_prefix(end + 1);
  if (format_.trim) pass_spaces();
  if (!at_line_end() && rest_[0] != format_.separator) {
    fail_at(line_, values_.size(),
            "there is text after the closing quote. A quote inside quotes is written twice");
  }
  return doubled ? unescaped_.emplace_back(without_doubled_quotes(text)) : text;
}

void CsvReader::require_all_columns() const {
  const bool note = columns_.front().starts_with('#');
  throw IoError(file_ + ":" + std::to_string(row_line_) + ": the row has " +
                counted(values_.size(), "value") + ", where " + std::to_string(columns_.size()) +
                (columns_.size() == 1 ? " is expected (" : " are expected (") + listed(columns_) +
                "). Is a separator or a quote missing, or one too many?" +
                (note ? std::string(" Lines that start with \"#\" are ignored with dataset.comment = \"#\".")
                 : first_row_ ? " If the table begins here, set dataset.skip_lines = " +
                                    std::to_string(row_line_ - 1) + "."
                              : ""));
}

void RowReader::fail_at(std::int64_t line, std::size_t column, const std::string& why) const {
  const std::string name =
      column < columns_.size() ? in_quotes(columns_[column]) : std::to_string(column + 1);
  throw IoError(file_ + ":" + std::to_string(line) + ": column " + name + ": " + why + ".");
}

}  // namespace runner
