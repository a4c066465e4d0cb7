#include "components/jinja/parser.hpp"

#include <algorithm>
#include <set>

#include "components/jinja/expression_parser.hpp"
#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

class Parser final : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Block whole() {
    Block block = statements({});
    if (now().kind != Lexeme::Kind::end) fail_here();
    return block;
  }

 private:
  using Kind = Lexeme::Kind;

  // Up to a block that begins with one of these names, after whose name it stops; the name is in ended_with_.
  Block statements(const std::vector<std::string>& ends) {
    const std::size_t opened = now().line;
    constexpr std::size_t deepest = 100;
    if (++nested_ > deepest) fail("has blocks that are nested too deep");
    Block block;
    while (now().kind != Kind::end) {
      const Lexeme lexeme = now();
      next();
      if (lexeme.kind == Kind::text) {
        block.push_back(make_text(lexeme.line, Text(lexeme.text)));
      } else if (lexeme.kind == Kind::print_begin) {
        block.push_back(make_print(lexeme.line, tuple()));
        need(Kind::print_end);
      } else {
        const std::string name = need_name();
        if (std::ranges::find(ends, name) != ends.end()) {
          ended_with_ = name;
          --nested_;
          return block;
        }
        block.push_back(statement(name, lexeme.line));
      }
    }
    if (!ends.empty()) {
      TemplateError error("opens a block that nothing closes: {% " + ends.back() + " %} is missing");
      error.line = opened;
      throw error;
    }
    --nested_;
    return block;
  }

  // The body of a block and its end.
  Block body(const std::string& end) {
    need(Kind::block_end);
    Block block = statements({end});
    if (now().kind == Kind::name) next();  // {% endmacro name %}
    need(Kind::block_end);
    return block;
  }

  void need(Kind kind) {
    if (now().kind != kind) fail_here();
    next();
  }

  MadeStatement statement(const std::string& name, std::size_t line) {
    if (name == "if") return branches(line);
    if (name == "for") return loop(line);
    if (name == "set") return set(line);
    if (name == "macro") return macro(line);
    if (name == "call") return call(line);
    if (name == "filter") return filter_block(line);
    if (name == "with") return with(line);
    if (name == "generation") return make_generation(line, body("endgeneration"));
    if (name == "break" || name == "continue") {
      need(Kind::block_end);
      return make_flow(line, name == "break" ? Flow::break_loop : Flow::next_round);
    }
    fail("has a block " + in_quotes(name) + ", which chat templates do not have or which has no beginning");
  }

  MadeStatement branches(std::size_t line) {
    std::vector<Branch> all;
    std::string kind = "if";
    while (true) {
      Branch branch;
      if (kind != "else") branch.condition = tuple();
      need(Kind::block_end);
      branch.body = statements(kind == "else" ? std::vector<std::string>{"endif"}
                                              : std::vector<std::string>{"elif", "else", "endif"});
      all.push_back(std::move(branch));
      kind = ended_with_;
      if (kind == "endif") break;
    }
    need(Kind::block_end);
    return make_if(line, std::move(all));
  }

  // Names, in parentheses or not; one that a comma follows unpacks as well.
  Target target() {
    Target names;
    const bool brackets = take_sign("(");
    names.names.push_back(need_name());
    if (take_sign(".")) {
      names.attribute = need_name();
      return names;
    }
    while (take_sign(",")) {
      names.unpacks = true;
      if (now().kind != Kind::name || at_name("in")) break;
      names.names.push_back(need_name());
    }
    if (brackets) need_sign(")");
    return names;
  }

  MadeStatement loop(std::size_t line) {
    Loop made;
    made.target = target();
    if (!take_name("in")) fail_here();
    made.over = tuple(false);
    if (take_name("if")) made.condition = expression();
    made.recursive = take_name("recursive");
    need(Kind::block_end);
    made.body = statements({"else", "endfor"});
    if (ended_with_ == "else") {
      need(Kind::block_end);
      made.otherwise = statements({"endfor"});
    }
    need(Kind::block_end);
    return make_for(line, std::move(made));
  }

  MadeStatement set(std::size_t line) {
    Target names = target();
    if (take_sign("=")) {
      Made value = tuple();
      need(Kind::block_end);
      return make_set(line, std::move(names), std::move(value));
    }
    Made filter = at_sign("|") ? filters(make_name(line, "body")) : nullptr;
    return make_captured(line, std::move(names), body("endset"), std::move(filter));
  }

  MadeStatement macro(std::size_t line) {
    const std::string name = need_name();
    need_sign("(");
    Parameters own = parameters();
    return make_macro(line, name, std::move(own), body("endmacro"));
  }

  MadeStatement call(std::size_t line) {
    Parameters own;
    if (take_sign("(")) own = parameters();
    Made function = make_name(now().line, need_name());
    while (take_sign(".")) function = make_attribute(now().line, std::move(function), need_name());
    need_sign("(");
    CallArguments given = arguments();
    return make_call_block(line, std::move(function), std::move(given), std::move(own), body("endcall"));
  }

  MadeStatement filter_block(std::size_t line) {
    // {% filter upper %} has no "|" before its first filter.
    Made value = make_name(line, "body");
    const std::string name = need_name();
    value = make_filter(line, std::move(value), name, take_sign("(") ? arguments() : CallArguments());
    value = filters(std::move(value));
    return make_captured(line, {}, body("endfilter"), std::move(value));
  }

  MadeStatement with(std::size_t line) {
    std::vector<std::pair<Target, Made>> values;
    while (now().kind != Kind::block_end) {
      if (!values.empty()) need_sign(",");
      Target name;
      name.names.push_back(need_name());
      need_sign("=");
      values.emplace_back(std::move(name), expression());
    }
    return make_with(line, std::move(values), body("endwith"));
  }

  std::string ended_with_;
  std::size_t nested_ = 0;
};

}  // namespace

Block parse(std::string_view source) { return Parser(divide(source)).whole(); }

}  // namespace runner::jinja
