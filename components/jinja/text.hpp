#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace runner::jinja {

// Where a character comes from: the template, or one of the values that it was given, whose numbers are the
// caller's. `generated` is added to what stands inside {% generation %}.
using Origin = std::uint32_t;
constexpr Origin from_template = 0, generated = 1u << 31;

// UTF-8 of which every byte knows its origin, through all that a template does with it.
struct Text {
  Text() = default;
  Text(std::string text, Origin origin = from_template)
      : bytes(std::move(text)), origins(bytes.size(), origin) {}
  Text(const char* text) : Text(std::string(text)) {}

  std::size_t size() const { return bytes.size(); }
  bool empty() const { return bytes.empty(); }
  std::string_view view() const { return bytes; }

  void append(const Text& other);
  void append(std::string_view text, Origin origin = from_template);
  void append(const char* text, Origin origin = from_template) { append(std::string_view(text), origin); }
  void append(char byte, Origin origin = from_template) { append(std::string_view(&byte, 1), origin); }
  Text part(std::size_t begin, std::size_t end) const;  // bytes [begin, end)

  std::string bytes;
  std::vector<Origin> origins;  // one for each byte
  bool markup = false;          // marked by |safe
};

// The bytes [begin, end) of each of its characters.
std::vector<std::size_t> character_starts(std::string_view text);  // and the size of the text at the end

// As Python's str.strip: of whitespace, or of any of the characters.
Text stripped(const Text& text, bool left, bool right, const std::string* characters = nullptr);
// Every `from` replaced by `to`, at most `most` times (negative: all), as Python's str.replace.
Text replaced(const Text& text, std::string_view from, const Text& to, std::int64_t most = -1);
std::vector<Text> split(const Text& text, std::string_view separator, std::int64_t most);
std::vector<Text> split_from_right(const Text& text, std::string_view separator, std::int64_t most);
std::vector<Text> split_at_spaces(const Text& text, std::int64_t most, bool from_right);
std::vector<Text> split_lines(const Text& text, bool keep_ends);

// Each character changed by itself; its origin stays.
enum class Case { lower, upper, swapped, capitalized, title };
Text in_case(const Text& text, Case wanted);

bool is_python_space(char32_t character);
bool is_printable(char32_t character);  // what Python's repr() does not escape

}  // namespace runner::jinja
