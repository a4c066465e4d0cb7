#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner::jinja {

struct Lexeme {
  enum class Kind {
    text,
    block_begin,
    block_end,
    print_begin,
    print_end,
    name,
    string,
    integer,
    real,
    sign,
    end
  };
  Kind kind = Kind::end;
  std::string text = {};  // a string without its quotes and escapes
  std::size_t line = 1;
};

// Divides a template, with the rules for white space that chat templates are written for (trim_blocks and
// lstrip_blocks). Throws TemplateError.
std::vector<Lexeme> divide(std::string_view source);

}  // namespace runner::jinja
