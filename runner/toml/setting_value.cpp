#include "runner/toml/setting_value.hpp"

#include <algorithm>
#include <string_view>

#include "registry/base/utf8.hpp"
#include "runner/toml/key_path.hpp"
#include "runner/toml/nesting.hpp"
#include "runner/toml/text_places.hpp"
#include "runner/toml/typed_scalar.hpp"

namespace runner {

namespace {

struct Unreadable {
  std::size_t offset, length;
  std::string why;
};

// Reads lists, tables, quoted strings and scalars as in TOML; inside lists and tables also bare words,
// because a shell removes the quotes of eval.metric=["accuracy", "loss"].
class Reader {
 public:
  Reader(const std::shared_ptr<const Source>& source, std::size_t offset, int layer)
      : source_(source), text_(source->text), at_(offset), layer_(layer), places_(text_) {}

  // Throws Unreadable.
  Value whole() {
    Value read = value();
    pass_spaces();
    if (at_ < text_.size()) fail(at_, text_.size() - at_, "there is more after the value");
    return read;
  }

 private:
  [[noreturn]] void fail(std::size_t offset, std::size_t length, std::string why) const {
    throw Unreadable{offset, std::max<std::size_t>(1, length), std::move(why)};
  }

  Origin origin(std::size_t begin, std::size_t length) const {
    Origin origin = places_.origin(source_, begin, length);
    origin.layer = layer_;
    return origin;
  }

  bool at_end() const { return at_ >= text_.size(); }
  void pass_spaces() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  Value value() {
    pass_spaces();
    const std::size_t begin = at_;
    if (at_end()) fail(begin, 1, "a value is missing");
    Value::Data data = text_[at_] == '[' || text_[at_] == '{'    ? nested()
                       : text_[at_] == '"' || text_[at_] == '\'' ? Value::Data(quoted())
                                                                 : bare();
    return Value(std::move(data), origin(begin, at_ - begin));
  }

  Value::Data nested() {
    if (++depth_ > deepest_nesting) {
      fail(at_, 1, "it is nested more than " + std::to_string(deepest_nesting) + " levels deep");
    }
    Value::Data data = text_[at_] == '[' ? Value::Data(list()) : Value::Data(table());
    --depth_;
    return data;
  }

  // Moves past the closing bracket, or past the comma before the next item; true: there is a next one.
  bool another(char closing, std::size_t opened) {
    pass_spaces();
    if (!at_end() && text_[at_] == ',') {
      ++at_;
      pass_spaces();
    } else if (!at_end() && text_[at_] != closing) {
      fail(at_, 1, "a comma or a closing bracket is missing");
    }
    if (at_end()) fail(opened, 1, "the bracket is not closed");
    if (text_[at_] != closing) return true;
    ++at_;
    return false;
  }

  bool empty_brackets(char closing, std::size_t opened) {
    ++at_;
    pass_spaces();
    if (at_end()) fail(opened, 1, "the bracket is not closed");
    if (text_[at_] != closing) return false;
    ++at_;
    return true;
  }

  Array list() {
    const std::size_t opened = at_;
    Array items;
    if (empty_brackets(']', opened)) return items;
    do items.push_back(value());
    while (another(']', opened));
    return items;
  }

  Table table() {
    const std::size_t opened = at_;
    Table members;
    if (empty_brackets('}', opened)) return members;
    do member(members);
    while (another('}', opened));
    return members;
  }

  // key = value, where the key may be dotted.
  void member(Table& members) {
    const std::size_t begin = at_;
    const KeyPath path = key();
    Table* table = &members;
    for (std::size_t i = 0; i + 1 < path.parts.size(); ++i) {
      const auto& [text, offset, length] = path.parts[i];
      Value* inner = table->find(text);
      if (!inner) {
        const Origin place = origin(begin + offset, length);
        inner = &table->append(text, Value(Value::Data(Table{}), place), place);
      }
      table = inner->as<Table>();
      if (!table) fail(begin, at_ - begin, "duplicate key");
    }
    const auto& [text, offset, length] = path.parts.back();
    if (table->find(text)) fail(begin, at_ - begin, "duplicate key");
    Value held = value();
    table->append(text, std::move(held), origin(begin + offset, length));
  }

  KeyPath key() {
    const std::size_t begin = at_;
    KeyPath path;
    while (true) {
      pass_spaces();
      const std::size_t start = at_;
      const bool in_quotes = !at_end() && (text_[at_] == '"' || text_[at_] == '\'');
      std::string part = in_quotes ? quoted() : bare_key();
      path.parts.push_back({std::move(part), start - begin, at_ - start});
      pass_spaces();
      if (at_end() || text_[at_] != '.') break;
      ++at_;
    }
    if (at_end() || text_[at_] != '=') fail(begin, at_ - begin, "a table holds key = value");
    depth_check(path.parts.size(), begin);
    ++at_;
    return path;
  }

  std::string bare_key() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(".=:,}\"' \t\r\n", at_), text_.size());
    const auto parsed = parse_key_path(text_.substr(begin, at_ - begin));
    if (const auto* problem = std::get_if<KeyProblem>(&parsed))
      fail(begin + problem->offset, problem->length, problem->message);
    return std::get<KeyPath>(parsed).parts.front().text;
  }

  void depth_check(std::size_t more, std::size_t offset) const {
    if (depth_ + more > deepest_nesting)
      fail(offset, 1, "it is nested more than " + std::to_string(deepest_nesting) + " levels deep");
  }

  std::string quoted() {
    const std::size_t opened = at_;
    const char quote = text_[at_];
    const std::string three(3, quote);
    const bool multi_line = text_.substr(at_).starts_with(three);
    at_ += multi_line ? 3 : 1;
    if (multi_line && text_.substr(at_).starts_with('\n')) ++at_;
    std::string held;
    while (true) {
      if (at_end() || (!multi_line && text_[at_] == '\n'))
        fail(opened, at_ - opened, "the closing quote is missing");
      if (multi_line ? text_.substr(at_).starts_with(three) : text_[at_] == quote) break;
      if (quote == '"' && text_[at_] == '\\') {
        escape(held);
      } else {
        held += text_[at_++];
      }
    }
    at_ += multi_line ? 3 : 1;
    return held;
  }

  void escape(std::string& held) {
    constexpr std::string_view letters = "btnfr\"\\", meant = "\b\t\n\f\r\"\\";
    const std::size_t begin = at_++;
    const char letter = at_end() ? '\0' : text_[at_++];
    if (const auto known = letters.find(letter); known != std::string_view::npos && letter != '\0') {
      held += meant[known];
    } else if (letter == 'u' || letter == 'U') {
      code_point(begin, letter == 'u' ? 4 : 8, held);
    } else {
      fail(begin, 2, "an unknown escape; a backslash itself is written \\\\");
    }
  }

  void code_point(std::size_t begin, std::size_t digits, std::string& held) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const char c = at_end() ? '\0' : text_[at_];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) fail(begin, at_ - begin, "an escape that is not a character");
      number = number * 16 + static_cast<std::uint32_t>(digit);
    }
    if (number > 0x10FFFF || (number >= 0xD800 && number < 0xE000))
      fail(begin, at_ - begin, "an escape that is not a character");
    append_utf8(held, number);
  }

  // Outside brackets, bare text extends to the end of the value; in brackets, to the end of the item.
  Value::Data bare() {
    const std::size_t begin = at_;
    at_ = depth_ == 0 ? text_.size() : std::min(text_.find_first_of(",]}\n", at_), text_.size());
    std::string_view word = text_.substr(begin, at_ - begin);
    word = word.substr(0, word.find_last_not_of(" \t\r\n") + 1);
    at_ = begin + word.size();
    if (word.empty()) fail(begin, 1, "a value is missing");
    if (auto data = typed_scalar(word)) return std::move(*data);
    if (depth_ > 0 && word.find_first_of("[{\"'=#") != std::string_view::npos)
      fail(begin, word.size(), "text with brackets, quotes, = or # needs quotes around it");
    return std::string(word);
  }

  std::shared_ptr<const Source> source_;
  std::string_view text_;
  std::size_t at_;
  int layer_;
  TextPlaces places_;
  std::size_t depth_ = 0;
};

}  // namespace

std::optional<Value> parse_setting_value(const std::shared_ptr<const Source>& source, std::size_t offset,
                                         int layer, Diagnostics& diagnostics) {
  const std::string_view text = std::string_view(source->text).substr(offset);
  Origin place = TextPlaces(source->text).origin(source, offset, text.size());
  place.layer = layer;
  if (!is_utf8(text)) {
    diagnostics.error(std::move(place), "the value is not valid UTF-8");
    return std::nullopt;
  }
  const auto first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const bool has_structure =
      first < text.size() && std::string_view("[{\"'").find(text[first]) != std::string_view::npos;
  Value value(Value::Data(std::string(text)), place);
  if (has_structure) {
    try {
      value = Reader(source, offset, layer).whole();
    } catch (const Unreadable& problem) {
      place = TextPlaces(source->text).origin(source, problem.offset, problem.length);
      place.layer = layer;
      diagnostics.error(std::move(place), "cannot read the value: " + problem.why,
                        {"put the whole argument in single quotes, so that the shell leaves it alone: "
                         "'key=[\"a\", \"b\"]'"});
      return std::nullopt;
    }
  } else if (const auto last = text.find_last_not_of(" \t\r\n"); last != std::string_view::npos) {
    if (auto data = typed_scalar(text.substr(first, last - first + 1))) value.data = std::move(*data);
  }
  value.typed = std::string(text);
  return value;
}

}  // namespace runner
