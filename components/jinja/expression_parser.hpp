#pragma once

#include "components/jinja/lexer.hpp"
#include "components/jinja/nodes.hpp"

namespace runner::jinja {

// Reads expressions, in Jinja's order of precedence.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Lexeme> lexemes) : lexemes_(std::move(lexemes)) {}

 protected:
  Made expression(bool with_choice = true);
  Made tuple(bool with_choice = true);  // a, b, c
  Made filters(Made value);             // value | a | b
  CallArguments arguments();            // after "("
  Parameters parameters();              // of a macro, after "("

  const Lexeme& now() const { return lexemes_[at_]; }
  void next() { ++at_; }
  bool at_sign(std::string_view sign) const { return now().kind == Lexeme::Kind::sign && now().text == sign; }
  bool at_name(std::string_view name) const { return now().kind == Lexeme::Kind::name && now().text == name; }
  bool take_sign(std::string_view sign);
  bool take_name(std::string_view name);
  void need_sign(std::string_view sign);
  std::string need_name();
  [[noreturn]] void fail(const std::string& why) const;
  [[noreturn]] void fail_here() const;  // something else belongs here

 private:
  void limit(std::size_t terms) const;
  Made either();
  Made both();
  Made negation();
  Made comparison();
  Made sum();
  Made joined();
  Made product();
  Made power();
  Made unary(bool with_filters = true);
  Made primary();
  Made string();
  Made number();
  Made after_brackets();  // of a tuple or an expression in parentheses
  Made list();
  Made dict();
  Made postfix(Made value);
  Made subscript(Made object);
  Made attribute_of(Made object);
  Made filters_and_tests(Made value);
  Made filter(Made value);
  Made test(Made value);
  std::string dotted_name();

  std::vector<Lexeme> lexemes_;
  std::size_t at_ = 0, depth_ = 0;
};

}  // namespace runner::jinja
