#include <algorithm>
#include <cmath>

#include "components/jinja/value.hpp"
#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

[[noreturn]] void refuse(std::string_view sign, const Value& left, const Value& right) {
  throw TemplateError("calculates " + left.type() + " " + std::string(sign) + " " + right.type());
}

std::int64_t whole(bool overflow, std::int64_t result) {
  if (overflow) throw TemplateError("calculates an integer that is too large");
  return result;
}

Value integers(std::string_view sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (sign == "+") return whole(__builtin_add_overflow(a, b, &result), result);
  if (sign == "-" || sign == "negative") return whole(__builtin_sub_overflow(a, b, &result), result);
  if (sign == "*") return whole(__builtin_mul_overflow(a, b, &result), result);
  if (sign == "**") {
    if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
    result = 1;
    if (a == 0 || a == 1) return b == 0 ? result : a;
    if (a == -1) return b % 2 == 0 ? result : a;
    for (std::int64_t i = 0; i < b; ++i) result = whole(__builtin_mul_overflow(result, a, &result), result);
    return result;
  }
  if (b == 0) throw TemplateError("divides by zero");
  if (sign == "/") return static_cast<double>(a) / static_cast<double>(b);
  if (b == -1) return sign == "%" ? 0 : whole(__builtin_sub_overflow(std::int64_t{0}, a, &result), result);
  const std::int64_t quotient = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  return sign == "//" ? quotient : a - quotient * b;
}

Value reals(std::string_view sign, double a, double b) {
  if (sign == "+") return a + b;
  if (sign == "-") return a - b;
  if (sign == "negative") return -b;
  if (sign == "*") return a * b;
  if (sign == "**") return std::pow(a, b);
  if (b == 0) throw TemplateError("divides by zero");
  if (sign == "/") return a / b;
  const double quotient = std::floor(a / b);
  return sign == "//" ? quotient : a - quotient * b;
}

Value repeated(const Value& what, std::int64_t times, Budget& budget) {
  times = std::max<std::int64_t>(0, times);
  const std::size_t size = what.text() ? what.text()->size() : what.list()->values.size();
  constexpr std::int64_t most = 1 << 30;
  budget.spend(static_cast<std::size_t>(std::min(times, most)) * std::max<std::size_t>(1, size));
  if (const Text* text = what.text()) {
    Text out;
    for (std::int64_t i = 0; i < times; ++i) out.append(*text);
    return out;
  }
  Values values;
  for (std::int64_t i = 0; i < times; ++i)
    values.insert(values.end(), what.list()->values.begin(), what.list()->values.end());
  return Value(std::move(values), what.list()->kind);
}

bool is_list(const Value& value) {
  return value.list() && (value.list()->kind == ListKind::list || value.list()->kind == ListKind::tuple);
}

// "%s of %d" % (a, b): only what templates use.
Text formatted(const Text& pattern, const Value& value) {
  const Values single = {value};
  const bool many = value.list() && value.list()->kind == ListKind::tuple;
  const Values& values = many ? value.list()->values : single;
  Text out;
  std::size_t used = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern.bytes[i] != '%') {
      out.append(pattern.part(i, i + 1));
      continue;
    }
    const char kind = i + 1 < pattern.size() ? pattern.bytes[++i] : '\0';
    if (kind == '%') {
      out.append('%');
      continue;
    }
    if (used >= values.size()) throw TemplateError("formats with too few values");
    const Value& one = values[used++];
    if (kind == 's') {
      out.append(printed(one));
    } else if (kind == 'r') {
      out.append(represented(one));
    } else if (kind == 'd' && as_number(one)) {
      out.append(Text(std::to_string(static_cast<std::int64_t>(*as_number(one)))));
    } else {
      throw TemplateError("formats with %" + std::string(1, kind) +
                          ", which is not supported; %s, %d and %r are");
    }
  }
  if (used < values.size() && (many || !value.dict())) throw TemplateError("formats with too many values");
  return out;
}

Value concatenated(const Value& left, const Value& right, Budget& budget) {
  if (left.text() && right.text()) {
    budget.spend(left.text()->size() + right.text()->size());
    Text out = *left.text();
    out.append(*right.text());
    return out;
  }
  Values values = left.list()->values;
  budget.spend(values.size() + right.list()->values.size());
  values.insert(values.end(), right.list()->values.begin(), right.list()->values.end());
  return Value(std::move(values), left.list()->kind);
}

// What |safe has marked is not escaped, but all that is added to it: as in Python, whether a page is written
// or not.
Value escaped_sum(const Text& left, const Text& right, Budget& budget) {
  Text sum = left.markup ? left : html_escaped(left, budget);
  sum.append(right.markup ? right : html_escaped(right, budget));
  budget.spend(sum.size());
  sum.markup = true;
  return sum;
}

// The position of an index that may count from the end.
std::optional<std::size_t> place(std::int64_t index, std::size_t size) {
  if (index < 0) index += static_cast<std::int64_t>(size);
  if (index < 0 || index >= static_cast<std::int64_t>(size)) return std::nullopt;
  return static_cast<std::size_t>(index);
}

Value unknown(const Value& object, const std::string& name) {
  if (object.is_undefined())
    throw TemplateError("takes " + in_quotes(name) + " of " + object.type() + " and so has nothing");
  return Undefined{name};
}

}  // namespace

Text html_escaped(Text text, Budget& budget) {
  budget.spend(5 * text.size());
  for (const auto& [from, to] :
       {std::pair("&", "&amp;"), {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}})
    text = replaced(text, from, Text(to));
  return text;
}

Value binary(std::string_view sign, const Value& left, const Value& right, Budget& budget) {
  if (sign == "~") return concatenated(printed(left), printed(right), budget);
  if (sign == "+" && left.text() && right.text() && (left.text()->markup || right.text()->markup))
    return escaped_sum(*left.text(), *right.text(), budget);
  if (sign == "+" && ((left.text() && right.text()) ||
                      (is_list(left) && is_list(right) && left.list()->kind == right.list()->kind))) {
    return concatenated(left, right, budget);
  }
  if (sign == "*") {
    if ((left.text() || is_list(left)) && as_integer(right))
      return repeated(left, *as_integer(right), budget);
    if ((right.text() || is_list(right)) && as_integer(left))
      return repeated(right, *as_integer(left), budget);
  }
  if (sign == "%" && left.text()) return formatted(*left.text(), right);
  if (as_integer(left) && as_integer(right)) return integers(sign, *as_integer(left), *as_integer(right));
  const auto a = as_number(left), b = as_number(right);
  if (!a || !b) refuse(sign, left, right);
  return reals(sign, *a, *b);
}

bool contains(const Value& all, const Value& one) {
  if (const Text* text = all.text()) return text->bytes.find(need_text(one, "in").bytes) != std::string::npos;
  if (const Dict* dict = all.dict()) return dict->find(one) != nullptr;
  if (all.is_none() || as_number(all)) throw TemplateError("looks for something in " + all.type());
  const Values values = iterated(all);
  return std::ranges::any_of(values, [&](const Value& each) { return equal(each, one); });
}

Value attribute(const Value& object, const std::string& name, Budget& budget) {
  if (object.function()) {
    const auto found = object.function()->attributes.find(name);
    return found == object.function()->attributes.end() ? unknown(object, name) : found->second;
  }
  if (object.space()) {
    const auto found = object.space()->values.find(name);
    return found == object.space()->values.end() ? unknown(object, name) : found->second;
  }
  const Value bound = method(object, name, budget);
  if (!bound.is_undefined()) return bound;
  if (object.dict())
    if (const Value* value = object.dict()->find(Value(Text(name)))) return *value;
  return unknown(object, name);
}

Value item(const Value& object, const Value& key, Budget& budget) {
  if (const Dict* dict = object.dict()) {
    if (!key.list() || key.list()->kind == ListKind::tuple)
      if (const Value* value = dict->find(key)) return *value;
  } else if (const auto index = as_integer(key); index && (object.list() || object.text())) {
    if (object.list() && object.list()->kind != ListKind::generator) {
      const auto at = place(*index, object.list()->values.size());
      return at ? object.list()->values[*at] : unknown(object, std::to_string(*index));
    }
    if (object.text()) {
      const auto starts = character_starts(object.text()->bytes);
      const auto at = place(*index, starts.size() - 1);
      if (!at) return unknown(object, std::to_string(*index));
      return object.text()->part(starts[*at], starts[*at + 1]);
    }
  }
  if (key.text()) return attribute(object, key.text()->bytes, budget);
  return unknown(object, printed(key).bytes);
}

Value slice(const Value& object, const Value& begin, const Value& end, const Value& step) {
  if (!object.text() && !is_list(object)) {
    if (object.is_undefined()) unknown(object, "a slice");
    throw TemplateError("slices " + object.type());
  }
  const std::vector<std::size_t> starts =
      object.text() ? character_starts(object.text()->bytes) : std::vector<std::size_t>();
  const auto size =
      static_cast<std::int64_t>(object.text() ? starts.size() - 1 : object.list()->values.size());
  const std::int64_t stride = step.is_none() ? 1 : need_integer(step, "the step of a slice");
  if (stride == 0) throw TemplateError("slices with a step of 0");
  const std::int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
  const auto bound = [&](const Value& given, std::int64_t fallback) {
    if (given.is_none()) return fallback;
    std::int64_t at = need_integer(given, "a slice");
    if (at < 0) at += size;
    return std::clamp(at, low, high);
  };
  const std::int64_t first = bound(begin, stride > 0 ? low : high),
                     last = bound(end, stride > 0 ? high : low);
  Text text;
  Values values;
  for (std::int64_t i = first; stride > 0 ? i < last : i > last;) {
    const auto at = static_cast<std::size_t>(i);
    if (object.text()) {
      text.append(object.text()->part(starts[at], starts[at + 1]));
    } else {
      values.push_back(object.list()->values[at]);
    }
    if (__builtin_add_overflow(i, stride, &i)) break;
  }
  if (object.text()) return text;
  return Value(std::move(values), object.list()->kind);
}

}  // namespace runner::jinja
