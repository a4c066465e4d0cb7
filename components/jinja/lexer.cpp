#include "components/jinja/lexer.hpp"

#include <algorithm>

#include "components/jinja/value.hpp"
#include "components/tokenizers/code_points.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

constexpr auto nowhere = std::string::npos;

// Every line ends with "\n", and the last line end does not count.
std::string normalized_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::size_t hex_digits(std::string_view text, std::size_t at, std::size_t count, char32_t& value) {
  value = 0;
  std::size_t used = 0;
  for (; used < count && at + used < text.size(); ++used) {
    const char c = text[at + used];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) break;
    value = value * 16 + static_cast<char32_t>(digit);
  }
  return used;
}

// The escapes of a string of Python; any other backslash stays.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char kind = text[++i];
    constexpr std::string_view letters = "abfnrtv\\'\"", meanings = "\a\b\f\n\r\t\v\\'\"";
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    char32_t value = 0;
    if (const auto known = letters.find(kind); known != nowhere) {
      out += meanings[known];
    } else if (digits > 0) {
      if (hex_digits(text, i + 1, digits, value) != digits || value > 0x10FFFF ||
          (value >= 0xD800 && value < 0xE000))
        throw TemplateError("has a string with an incomplete \\" + std::string(1, kind));
      append_utf8(out, value);
      i += digits;
    } else if (kind >= '0' && kind <= '7') {
      std::size_t used = 0;
      for (; used < 3 && i + used < text.size() && text[i + used] >= '0' && text[i + used] <= '7'; ++used)
        value = value * 8 + static_cast<char32_t>(text[i + used] - '0');
      append_utf8(out, value);
      i += used - 1;
    } else if (kind != '\n') {
      out += '\\';
      out += kind;
    }
  }
  return out;
}

bool is_name(char c, bool first) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (!first && c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Lexeme> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      if (tag == nowhere) {
        text(source_.substr(at_));
        break;
      }
      const char kind = source_[tag + 1];
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      text(before_tag(tag, kind, sign));
      move_to(tag + 2 + (sign == '-' || sign == '+' ? 1 : 0));
      if (kind == '#') {
        comment();
      } else if (kind == '%' && is_raw()) {
        raw();
      } else {
        code(kind == '{');
      }
    }
    add(Lexeme::Kind::end, "");
    return std::move(found_);
  }

 private:
  void add(Lexeme::Kind kind, std::string text) { found_.push_back({kind, std::move(text), line_}); }
  void text(std::string part) {
    if (!part.empty()) add(Lexeme::Kind::text, std::move(part));
  }
  void move_to(std::size_t position) {
    line_ +=
        static_cast<std::size_t>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                            source_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
    at_ = position;
  }
  [[noreturn]] void fail(const std::string& why) const {
    TemplateError error(why);
    error.line = line_;
    throw error;
  }
  bool comes(std::string_view what) const { return std::string_view(source_).substr(at_).starts_with(what); }

  std::size_t next_tag() const {
    for (std::size_t i = source_.find('{', at_); i != nowhere; i = source_.find('{', i + 1)) {
      const char next = i + 1 < source_.size() ? source_[i + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') return i;
    }
    return nowhere;
  }

  // The text up to a tag, without the spaces that the tag removes.
  std::string before_tag(std::size_t tag, char kind, char sign) const {
    std::string part = source_.substr(at_, tag - at_);
    if (sign == '-') return stripped(Text(part), false, true).bytes;
    if (kind == '{' || sign == '+') return part;
    const std::size_t line_start = part.rfind('\n') + 1;  // 0 if there is none
    if (line_start == 0 && !at_line_start_) return part;
    const std::string last = part.substr(line_start);
    return stripped(Text(last), true, false).empty() ? part.substr(0, line_start) : part;
  }

  // After the end of a tag: "-" removes all spaces, a block also removes one line end.
  void finish_tag(bool minus, bool trims) {
    const std::size_t before = at_;
    if (minus) {
      std::string_view rest = std::string_view(source_).substr(at_);
      while (!rest.empty()) {
        std::string_view after = rest;
        if (!is_python_space(take_code_point(after))) break;
        rest = after;
      }
      move_to(source_.size() - rest.size());
    } else if (trims && comes("\n")) {
      move_to(at_ + 1);
    }
    at_line_start_ = at_ > before && source_[at_ - 1] == '\n';
  }

  void comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == nowhere) fail("has a comment without its end, #}");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    move_to(end + 2);
    finish_tag(sign == '-', sign != '+');
  }

  bool is_raw() const {
    std::size_t i = source_.find_first_not_of(" \t\n", at_);
    if (i == nowhere || source_.compare(i, 3, "raw") != 0) return false;
    i = source_.find_first_not_of(" \t\n", i + 3);
    return i != nowhere && (source_.compare(i, 2, "%}") == 0 || source_.compare(i, 3, "-%}") == 0);
  }

  void raw() {
    const std::size_t begin = source_.find("%}", at_);
    const bool minus = source_[begin - 1] == '-';
    move_to(begin + 2);
    if (minus) finish_tag(true, false);
    for (std::size_t tag = source_.find("{%", at_); tag != nowhere; tag = source_.find("{%", tag + 2)) {
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      const std::size_t word = source_.find_first_not_of(" \t\n", tag + (sign == '-' || sign == '+' ? 3 : 2));
      if (word == nowhere || source_.compare(word, 6, "endraw") != 0) continue;
      const std::size_t end = source_.find("%}", word);
      if (end == nowhere) break;
      text(before_tag(tag, '%', sign));
      move_to(end + 2);
      return finish_tag(source_[end - 1] == '-', source_[end - 1] != '+');
    }
    fail("has {% raw %} without {% endraw %}");
  }

  void code(bool print) {
    const std::size_t begin = line_;
    add(print ? Lexeme::Kind::print_begin : Lexeme::Kind::block_begin, "");
    const std::string_view end = print ? "}}" : "%}";
    std::string open;  // brackets
    while (true) {
      move_to(std::min(source_.find_first_not_of(" \t\n\f\v", at_), source_.size()));
      if (at_ >= source_.size()) {
        line_ = begin;
        fail("has " + std::string(print ? "{{" : "{%") + " without its end, " + std::string(end));
      }
      const char c = source_[at_];
      const char* sign = c == '-' ? "-" : c == '+' && !print ? "+" : "";
      if (open.empty() && comes(sign + std::string(end))) {
        add(print ? Lexeme::Kind::print_end : Lexeme::Kind::block_end, "");
        move_to(at_ + end.size() + std::string_view(sign).size());
        return finish_tag(c == '-', !print && c != '+');
      }
      if (is_name(c, true)) {
        std::size_t stop = at_;
        while (stop < source_.size() && is_name(source_[stop], false)) ++stop;
        add_until(Lexeme::Kind::name, stop);
      } else if (is_digit(c)) {
        number();
      } else if (c == '"' || c == '\'') {
        string(c);
      } else {
        operation(open);
      }
    }
  }

  void add_until(Lexeme::Kind kind, std::size_t stop) {
    add(kind, source_.substr(at_, stop - at_));
    move_to(stop);
  }

  void number() {
    std::size_t stop = at_;
    const auto digits = [&] {
      while (stop < source_.size() && (is_digit(source_[stop]) || source_[stop] == '_')) ++stop;
    };
    const auto digit_at = [&](std::size_t i) { return i < source_.size() && is_digit(source_[i]); };
    if (source_[at_] == '0' && at_ + 1 < source_.size() &&
        std::string_view("xXoObB").find(source_[at_ + 1]) != nowhere) {
      stop += 2;
      while (stop < source_.size() && (is_name(source_[stop], false))) ++stop;
      return add_until(Lexeme::Kind::integer, stop);
    }
    digits();
    Lexeme::Kind kind = Lexeme::Kind::integer;
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';  // value.0.1
    if (!after_dot && stop < source_.size() && source_[stop] == '.' && digit_at(stop + 1)) {
      kind = Lexeme::Kind::real;
      ++stop;
      digits();
    }
    if (stop < source_.size() && (source_[stop] == 'e' || source_[stop] == 'E')) {
      const std::size_t sign =
          stop + 1 < source_.size() && (source_[stop + 1] == '-' || source_[stop + 1] == '+') ? 1 : 0;
      if (digit_at(stop + 1 + sign)) {
        kind = Lexeme::Kind::real;
        stop += 1 + sign;
        digits();
      }
    }
    add_until(kind, stop);
    std::erase(found_.back().text, '_');
  }

  void string(char quote) {
    std::size_t stop = at_ + 1;
    while (stop < source_.size() && source_[stop] != quote) stop += source_[stop] == '\\' ? 2 : 1;
    if (stop >= source_.size()) fail("has a string without its end");
    try {
      add(Lexeme::Kind::string, unescaped(std::string_view(source_).substr(at_ + 1, stop - at_ - 1)));
    } catch (const TemplateError& error) {
      fail(error.what());
    }
    move_to(stop + 1);
  }

  void operation(std::string& open) {
    const char c = source_[at_];
    for (const char* sign : {"//", "**", "==", "!=", "<=", ">="})
      if (comes(sign)) return add_until(Lexeme::Kind::sign, at_ + 2);
    constexpr std::string_view single = "+-*/%~.,:|()[]{}<>=;", opening = "([{", closing = ")]}";
    if (single.find(c) == nowhere)
      fail("has a character that means nothing here: " + in_quotes(source_.substr(at_, 1)));
    if (opening.find(c) != nowhere) open += c;
    if (const auto which = closing.find(c); which != nowhere) {
      if (open.empty() || open.back() != opening[which])
        fail("closes a bracket that is not open: " + in_quotes(std::string(1, c)));
      open.pop_back();
    }
    add_until(Lexeme::Kind::sign, at_ + 1);
  }

  std::string source_;
  std::size_t at_ = 0, line_ = 1;
  bool at_line_start_ = true;
  std::vector<Lexeme> found_;
};

}  // namespace

std::vector<Lexeme> divide(std::string_view source) { return Lexer(normalized_lines(source)).run(); }

}  // namespace runner::jinja
