#include "components/jinja/expression_parser.hpp"

#include <algorithm>

#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

class Nested {
 public:
  explicit Nested(std::size_t& depth) : depth_(depth) {
    constexpr std::size_t deepest = 100;
    if (depth_ >= deepest) throw TemplateError("has expressions that are nested too deep");
    ++depth_;
  }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() { --depth_; }

 private:
  std::size_t& depth_;
};

}  // namespace

bool ExpressionParser::take_sign(std::string_view sign) {
  const bool here = at_sign(sign);
  if (here) next();
  return here;
}

bool ExpressionParser::take_name(std::string_view name) {
  const bool here = at_name(name);
  if (here) next();
  return here;
}

void ExpressionParser::need_sign(std::string_view sign) {
  if (!take_sign(sign)) fail("has " + in_quotes(now().text) + " where " + in_quotes(sign) + " belongs");
}

std::string ExpressionParser::need_name() {
  if (now().kind != Lexeme::Kind::name) fail_here();
  const std::string name = now().text;
  next();
  return name;
}

void ExpressionParser::fail(const std::string& why) const {
  TemplateError error(why);
  error.line = now().line;
  throw error;
}

void ExpressionParser::fail_here() const {
  switch (now().kind) {
    case Lexeme::Kind::end: fail("ends too early");
    case Lexeme::Kind::block_end: fail("has a block that ends too early");
    case Lexeme::Kind::print_end: fail("has an expression that ends too early");
    default: fail("has " + in_quotes(now().text) + " where it cannot be");
  }
}

// A tree of thousands of levels could not even be deleted.
void ExpressionParser::limit(std::size_t terms) const {
  constexpr std::size_t most = 500;
  if (terms > most) fail("has an expression with too many terms");
}

Made ExpressionParser::expression(bool with_choice) {
  const Nested nested(depth_);
  Made value = either();
  while (with_choice && at_name("if")) {
    const std::size_t line = now().line;
    next();
    Made condition = either();
    Made otherwise = take_name("else") ? expression() : nullptr;
    value = make_choice(line, std::move(condition), std::move(value), std::move(otherwise));
  }
  return value;
}

Made ExpressionParser::tuple(bool with_choice) {
  const std::size_t line = now().line;
  Made first = expression(with_choice);
  if (!at_sign(",")) return first;
  Expressions items;
  items.push_back(std::move(first));
  while (take_sign(",")) {
    const bool over = now().kind == Lexeme::Kind::block_end || now().kind == Lexeme::Kind::print_end ||
                      at_sign(")") || at_name("in");
    if (over) break;
    items.push_back(expression(with_choice));
  }
  return make_list(line, std::move(items), true);
}

Made ExpressionParser::either() {
  Made left = both();
  for (std::size_t terms = 1; at_name("or"); ++terms) {
    limit(terms);
    const std::size_t line = now().line;
    next();
    left = make_logic(line, false, std::move(left), both());
  }
  return left;
}

Made ExpressionParser::both() {
  Made left = negation();
  for (std::size_t terms = 1; at_name("and"); ++terms) {
    limit(terms);
    const std::size_t line = now().line;
    next();
    left = make_logic(line, true, std::move(left), negation());
  }
  return left;
}

Made ExpressionParser::negation() {
  if (!at_name("not")) return comparison();
  const Nested nested(depth_);
  const std::size_t line = now().line;
  next();
  return make_not(line, negation());
}

Made ExpressionParser::comparison() {
  const std::size_t line = now().line;
  Made first = sum();
  std::vector<std::pair<std::string, Made>> rest;
  while (true) {
    std::string sign;
    for (const char* each : {"==", "!=", "<", "<=", ">", ">="})
      if (at_sign(each)) sign = each;
    if (at_name("in")) sign = "in";
    if (at_name("not") && lexemes_[at_ + 1].kind == Lexeme::Kind::name && lexemes_[at_ + 1].text == "in") {
      next();
      sign = "not in";
    }
    if (sign.empty()) break;
    next();
    rest.emplace_back(sign, sum());
  }
  return rest.empty() ? std::move(first) : make_comparison(line, std::move(first), std::move(rest));
}

Made ExpressionParser::sum() {
  Made left = joined();
  for (std::size_t terms = 1; at_sign("+") || at_sign("-"); ++terms) {
    limit(terms);
    const Lexeme sign = now();
    next();
    left = make_binary(sign.line, sign.text, std::move(left), joined());
  }
  return left;
}

Made ExpressionParser::joined() {
  Made left = product();
  for (std::size_t terms = 1; at_sign("~"); ++terms) {
    limit(terms);
    const std::size_t line = now().line;
    next();
    left = make_binary(line, "~", std::move(left), product());
  }
  return left;
}

Made ExpressionParser::product() {
  Made left = power();
  for (std::size_t terms = 1; at_sign("*") || at_sign("/") || at_sign("//") || at_sign("%"); ++terms) {
    limit(terms);
    const Lexeme sign = now();
    next();
    left = make_binary(sign.line, sign.text, std::move(left), power());
  }
  return left;
}

Made ExpressionParser::power() {
  Made left = unary();
  for (std::size_t terms = 1; at_sign("**"); ++terms) {
    limit(terms);
    const std::size_t line = now().line;
    next();
    left = make_binary(line, "**", std::move(left), unary());
  }
  return left;
}

Made ExpressionParser::unary(bool with_filters) {
  const Nested nested(depth_);
  const std::size_t line = now().line;
  Made value;
  if (take_sign("-")) {
    value = make_binary(line, "negative", make_constant(line, std::int64_t{0}), unary(false));
  } else if (take_sign("+")) {
    value = unary(false);
  } else {
    value = postfix(primary());
  }
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

Made ExpressionParser::primary() {
  const Lexeme lexeme = now();
  switch (lexeme.kind) {
    case Lexeme::Kind::name: {
      next();
      const std::string& name = lexeme.text;
      if (name == "true" || name == "True") return make_constant(lexeme.line, true);
      if (name == "false" || name == "False") return make_constant(lexeme.line, false);
      if (name == "none" || name == "None") return make_constant(lexeme.line, None{});
      return make_name(lexeme.line, name);
    }
    case Lexeme::Kind::string: return string();
    case Lexeme::Kind::integer:
    case Lexeme::Kind::real: return number();
    default: break;
  }
  if (take_sign("(")) return after_brackets();
  if (take_sign("[")) return list();
  if (take_sign("{")) return dict();
  fail_here();
}

// Strings that stand side by side are one.
Made ExpressionParser::string() {
  const std::size_t line = now().line;
  std::string text;
  for (; now().kind == Lexeme::Kind::string; next()) text += now().text;
  return make_constant(line, Text(text));
}

Made ExpressionParser::number() {
  const Lexeme lexeme = now();
  next();
  try {
    if (lexeme.kind == Lexeme::Kind::real) return make_constant(lexeme.line, std::stod(lexeme.text));
    std::string digits = lexeme.text;
    std::erase(digits, '_');
    int base = 10;
    if (digits.size() > 2 && digits[0] == '0') {
      base = digits[1] == 'x' || digits[1] == 'X' ? 16 : digits[1] == 'o' || digits[1] == 'O' ? 8 : 2;
      digits = digits.substr(2);
    }
    std::size_t used = 0;
    const auto value = static_cast<std::int64_t>(std::stoll(digits, &used, base));
    if (used == digits.size()) return make_constant(lexeme.line, value);
  } catch (const std::logic_error&) {
  }
  fail("has a number that is not one, or too large: " + in_quotes(lexeme.text));
}

Made ExpressionParser::after_brackets() {
  const std::size_t line = now().line;
  if (take_sign(")")) return make_list(line, {}, true);
  Made value = tuple();
  need_sign(")");
  return value;
}

Made ExpressionParser::list() {
  const std::size_t line = now().line;
  Expressions items;
  while (!at_sign("]")) {
    if (!items.empty()) need_sign(",");
    if (at_sign("]")) break;
    items.push_back(expression());
  }
  need_sign("]");
  return make_list(line, std::move(items), false);
}

Made ExpressionParser::dict() {
  const std::size_t line = now().line;
  Expressions keys, values;
  while (!at_sign("}")) {
    if (!keys.empty()) need_sign(",");
    if (at_sign("}")) break;
    keys.push_back(expression());
    need_sign(":");
    values.push_back(expression());
  }
  need_sign("}");
  return make_dict(line, std::move(keys), std::move(values));
}

Made ExpressionParser::postfix(Made value) {
  for (std::size_t steps = 0;; ++steps) {
    constexpr std::size_t longest = 100;
    if (steps > longest) fail("has a chain of calls that is too long");
    const std::size_t line = now().line;
    if (take_sign(".")) {
      value = attribute_of(std::move(value));
    } else if (take_sign("[")) {
      value = subscript(std::move(value));
    } else if (take_sign("(")) {
      value = make_call(line, std::move(value), arguments());
    } else {
      return value;
    }
  }
}

Made ExpressionParser::attribute_of(Made object) {
  const Lexeme lexeme = now();
  if (lexeme.kind == Lexeme::Kind::name) {
    next();
    return make_attribute(lexeme.line, std::move(object), lexeme.text);
  }
  if (lexeme.kind != Lexeme::Kind::integer) fail_here();
  return make_item(lexeme.line, std::move(object), number());
}

Made ExpressionParser::subscript(Made object) {
  const std::size_t line = now().line;
  Made parts[3];
  std::size_t part = 0;
  bool sliced = false;
  while (!at_sign("]")) {
    if (take_sign(":")) {
      sliced = true;
      if (++part > 2) fail_here();
    } else if (!parts[part]) {
      parts[part] = tuple();
    } else {
      fail_here();
    }
  }
  need_sign("]");
  if (sliced)
    return make_slice(line, std::move(object), std::move(parts[0]), std::move(parts[1]), std::move(parts[2]));
  if (!parts[0]) fail("has empty brackets");
  return make_item(line, std::move(object), std::move(parts[0]));
}

CallArguments ExpressionParser::arguments() {
  CallArguments all;
  for (bool first = true; !take_sign(")"); first = false) {
    if (!first) need_sign(",");
    if (!first && take_sign(")")) break;
    if (take_sign("**")) {
      all.more_named = expression();
    } else if (take_sign("*")) {
      all.more = expression();
    } else if (now().kind == Lexeme::Kind::name && lexemes_[at_ + 1].kind == Lexeme::Kind::sign &&
               lexemes_[at_ + 1].text == "=") {
      const std::string name = need_name();
      next();
      all.named.emplace_back(name, expression());
    } else {
      all.positional.push_back(expression());
    }
  }
  return all;
}

Parameters ExpressionParser::parameters() {
  Parameters all;
  for (bool first = true; !take_sign(")"); first = false) {
    if (!first) need_sign(",");
    if (!first && take_sign(")")) break;
    all.names.push_back(need_name());
    if (take_sign("=")) {
      all.defaults.push_back(expression());
    } else if (!all.defaults.empty()) {
      fail("has a parameter without a default after one that has a default");
    }
  }
  return all;
}

Made ExpressionParser::filters_and_tests(Made value) {
  for (std::size_t steps = 0;; ++steps) {
    constexpr std::size_t longest = 100;
    if (steps > longest) fail("has a chain of filters that is too long");
    const std::size_t line = now().line;
    if (at_sign("|")) {
      value = filters(std::move(value));
    } else if (take_name("is")) {
      value = test(std::move(value));
    } else if (take_sign("(")) {
      value = make_call(line, std::move(value), arguments());
    } else {
      return value;
    }
  }
}

std::string ExpressionParser::dotted_name() {
  std::string name = need_name();
  while (take_sign(".")) name += "." + need_name();
  return name;
}

Made ExpressionParser::filters(Made value) {
  while (take_sign("|")) {
    const std::size_t line = now().line;
    const std::string name = dotted_name();
    value = make_filter(line, std::move(value), name, take_sign("(") ? arguments() : CallArguments());
  }
  return value;
}

Made ExpressionParser::test(Made value) {
  const std::size_t line = now().line;
  const bool negated = take_name("not");
  const std::string name = dotted_name();
  CallArguments given;
  const bool could_begin = now().kind == Lexeme::Kind::name || now().kind == Lexeme::Kind::string ||
                           now().kind == Lexeme::Kind::integer || now().kind == Lexeme::Kind::real ||
                           at_sign("[") || at_sign("{");
  if (take_sign("(")) {
    given = arguments();
  } else if (could_begin && !at_name("else") && !at_name("or") && !at_name("and") && !at_name("if") &&
             !at_name("in") && !at_name("not")) {
    if (at_name("is")) fail("has a test of a test: put the first one in parentheses");
    given.positional.push_back(postfix(primary()));
  }
  return make_test(line, std::move(value), name, std::move(given), negated);
}

}  // namespace runner::jinja
