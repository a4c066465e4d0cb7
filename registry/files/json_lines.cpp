#include "registry/files/json_lines.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "registry/files/io_error.hpp"
#include "registry/files/read_json.hpp"
#include "registry/files/text_encoding.hpp"

namespace runner {

namespace {

constexpr std::string_view spaces = " \t\r\n";
constexpr std::size_t most_in_object = 20'000;  // values; each new key is compared with all others

std::string_view without_spaces(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(spaces)));
  return text;
}

}  // namespace

bool is_json_lines(std::string_view text) {
  text = without_spaces(without_byte_order_mark(text));
  if (text.starts_with('[')) text = without_spaces(text.substr(1));
  if (!text.starts_with('{')) return false;
  text = without_spaces(text.substr(1));
  return text.starts_with('"') || text.starts_with('}');
}

JsonLines::JsonLines(std::string_view text, std::string file)
    : file_(std::move(file)), rest_(without_byte_order_mark(text)) {
  pass_spaces();
  array_ = rest_.starts_with('[');
  if (array_) rest_.remove_prefix(1);
}

JsonLines::~JsonLines() = default;

void JsonLines::fail(std::int64_t line, const std::string& why) const {
  throw IoError(file_ + ":" + std::to_string(line) + ": " + why + ".");
}

void JsonLines::pass_spaces() {
  const std::size_t count = std::min(rest_.size(), rest_.find_first_not_of(spaces));
  line_ += std::ranges::count(rest_.substr(0, count), '\n');
  rest_.remove_prefix(count);
}

// Between the objects of an array; true at its end.
bool JsonLines::pass_comma_or_end() {
  if (rest_.starts_with(']')) {
    rest_.remove_prefix(1);
    pass_spaces();
    if (!rest_.empty()) fail(line_, "there is text after the end of the array");
    return true;
  }
  if (first_) return false;
  if (!rest_.starts_with(',')) fail(line_, "a comma or the end of the array is expected here");
  rest_.remove_prefix(1);
  pass_spaces();
  return false;
}

// Up to the bracket that closes it; brackets within texts do not count.
std::string_view JsonLines::object_text() {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < rest_.size(); ++i) {
    const char letter = rest_[i];
    if (letter == '"') {
      for (++i; i < rest_.size() && rest_[i] != '"'; ++i) {
        if (rest_[i] == '\\') ++i;
        // A text cannot go on in the next line, so that a missing quote does not hide the rest of the file.
        else if (rest_[i] == '\n')
          fail(object_line_, "a text is not closed in this line");
      }
    } else if (letter == '{' || letter == '[') {
      ++depth;
    } else if ((letter == '}' || letter == ']') && --depth == 0) {
      return rest_.substr(0, i + 1);
    }
  }
  fail(object_line_, "the object that begins here is never closed");
}

bool JsonLines::next() {
  pass_spaces();
  if (array_ && rest_.empty()) fail(line_, "the array is never closed: the file is incomplete");
  if (array_ && pass_comma_or_end()) {
    array_ = false;
    return false;
  }
  if (rest_.empty()) return false;
  first_ = false;
  object_line_ = line_;
  if (!rest_.starts_with('{'))
    fail(line_, array_ ? "each entry of the array should be an object, {\"name\": value, ..}"
                       : "each line should be an object, {\"name\": value, ..}");
  const std::string_view text = object_text();
  try {
    check_json_limits(text, most_in_object);
    object_ = std::make_unique<nlohmann::ordered_json>(nlohmann::ordered_json::parse(text));
  } catch (const JsonError& error) {
    fail(object_line_, error.what());
  } catch (const nlohmann::json::parse_error& error) {
    // The library's message quotes a whole token, however long it is.
    const std::string_view before = text.substr(0, error.byte);
    fail(object_line_ + std::ranges::count(before, '\n'),
         "this is not valid JSON (character " + std::to_string(error.byte) + " of the object)");
  } catch (const nlohmann::json::exception&) {  // such as a number that no type holds
    fail(object_line_, "this is not valid JSON");
  }
  line_ += std::ranges::count(text, '\n');
  rest_.remove_prefix(text.size());
  return true;
}

}  // namespace runner
