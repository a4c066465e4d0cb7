#include <unicode/uchar.h>

#include <algorithm>
#include <utility>

#include "components/jinja/value.hpp"
#include "components/tokenizers/code_points.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

// The methods of a text. What they return is never longer than what they get, except where they spend.
using TextMethod = Value (*)(const Text& text, const Arguments& arguments, Budget& budget);

Value as_values(std::vector<Text> texts) {
  Values values;
  for (Text& each : texts) values.emplace_back(std::move(each));
  return values;
}

Value split_text(const Text& text, const Arguments& arguments, bool from_right) {
  arguments.at_most(2, {"sep", "maxsplit"});
  const Value *separator = arguments.find(0, "sep"), *most = arguments.find(1, "maxsplit");
  const std::int64_t limit = most ? need_integer(*most, "maxsplit") : -1;
  if (!separator || separator->is_none()) return as_values(split_at_spaces(text, limit, from_right));
  const Text& between = need_text(*separator, "split()");
  if (between.empty()) throw TemplateError("splits at an empty string");
  return as_values(from_right ? split_from_right(text, between.bytes, limit)
                              : split(text, between.bytes, limit));
}

Value strip(const Text& text, const Arguments& arguments, bool left, bool right) {
  arguments.at_most(1);
  const Value* characters = arguments.find(0, "chars");
  if (!characters || characters->is_none()) return stripped(text, left, right);
  return stripped(text, left, right, &need_text(*characters, "strip()").bytes);
}

bool has_affix(const Text& text, const Value& affix, bool at_end) {
  if (affix.list() && affix.list()->kind == ListKind::tuple) {
    return std::ranges::any_of(affix.list()->values,
                               [&](const Value& each) { return has_affix(text, each, at_end); });
  }
  const std::string& part = need_text(affix, at_end ? "endswith()" : "startswith()").bytes;
  return at_end ? text.view().ends_with(part) : text.view().starts_with(part);
}

Value affixed(const Text& text, const Arguments& arguments, bool at_end) {
  arguments.at_most(1);
  const Value* affix = arguments.find(0, "prefix");
  if (!affix) throw TemplateError("calls startswith() or endswith() without an argument");
  return has_affix(text, *affix, at_end);
}

const Text& only_text(const Arguments& arguments, std::string_view method) {
  arguments.at_most(1);
  if (arguments.positional.empty())
    throw TemplateError("calls " + std::string(method) + "() without an argument");
  return need_text(arguments.positional.front(), method);
}

// The position in characters; -1 if it is not there.
std::int64_t found_at(const Text& text, const Arguments& arguments, bool last) {
  const std::string& part = only_text(arguments, "find").bytes;
  const std::size_t at = last ? text.bytes.rfind(part) : text.bytes.find(part);
  if (at == std::string::npos) return -1;
  return static_cast<std::int64_t>(utf8_characters(text.view().substr(0, at)));
}

Value index_of(const Text& text, const Arguments& arguments, bool last) {
  const std::int64_t at = found_at(text, arguments, last);
  if (at < 0) throw TemplateError("does not find " + in_quotes(arguments.positional.front().text()->bytes));
  return at;
}

template <class Is>
Value all_are(const Text& text, const Arguments& arguments, const Is& is) {
  arguments.at_most(0);
  for (std::string_view rest = text.bytes; !rest.empty();)
    if (!is(take_code_point(rest))) return false;
  return !text.empty();
}

Value is_cased(const Text& text, const Arguments& arguments, UProperty wanted, UProperty other) {
  arguments.at_most(0);
  bool some = false;
  for (std::string_view rest = text.bytes; !rest.empty();) {
    const auto c = static_cast<UChar32>(take_code_point(rest));
    if (u_hasBinaryProperty(c, other) || u_charType(c) == U_TITLECASE_LETTER) return false;
    some = some || u_hasBinaryProperty(c, wanted);
  }
  return some;
}

Value partitioned(const Text& text, const Arguments& arguments, bool last) {
  const std::string& part = only_text(arguments, "partition").bytes;
  const std::size_t at = last ? text.bytes.rfind(part) : text.bytes.find(part);
  const auto tuple = [](Text a, Text b, Text c) {
    return Value(Values{std::move(a), std::move(b), std::move(c)}, ListKind::tuple);
  };
  if (at == std::string::npos) return last ? tuple({}, {}, text) : tuple(text, {}, {});
  return tuple(text.part(0, at), text.part(at, at + part.size()), text.part(at + part.size(), text.size()));
}

enum class Side { left, right, both };
Value padded(const Text& text, const Arguments& arguments, Side side, Budget& budget) {
  arguments.at_most(2);
  if (arguments.positional.empty()) throw TemplateError("pads a string without a width");
  const std::int64_t width = need_integer(arguments.positional.front(), "a width");
  const Text filling =
      arguments.positional.size() > 1 ? need_text(arguments.positional[1], "the filling") : Text(" ");
  const auto size = static_cast<std::int64_t>(utf8_characters(text.bytes));
  if (width <= size) return text;
  const std::int64_t missing = width - size;
  budget.spend(static_cast<std::size_t>(missing) * filling.size());
  const std::int64_t before = side == Side::left    ? missing
                              : side == Side::right ? 0
                                                    : missing / 2 + (missing & width & 1);
  Text out;
  for (std::int64_t i = 0; i < before; ++i) out.append(filling);
  out.append(text);
  for (std::int64_t i = before; i < missing; ++i) out.append(filling);
  return out;
}

Value replaced_text(const Text& text, const Arguments& arguments, Budget& budget) {
  arguments.at_most(3, {"old", "new", "count"});
  const Value *from = arguments.find(0, "old"), *to = arguments.find(1, "new"),
              *most = arguments.find(2, "count");
  if (!from || !to) throw TemplateError("calls replace() without what to put there");
  const Text &old = need_text(*from, "replace()"), &fresh = need_text(*to, "replace()");
  budget.spend((text.size() / std::max<std::size_t>(1, old.size()) + 1) * (fresh.size() + 1));
  return replaced(text, old.bytes, fresh, most ? need_integer(*most, "count") : -1);
}

Value joined_texts(const Text& text, const Arguments& arguments, Budget& budget) {
  arguments.at_most(1);
  if (arguments.positional.empty()) throw TemplateError("calls join() without a list");
  Text out;
  bool first = true;
  for (const Value& each : iterated(arguments.positional.front())) {
    const Text& part = need_text(each, "join()");
    budget.spend(part.size() + text.size());
    if (!std::exchange(first, false)) out.append(text);
    out.append(part);
  }
  return out;
}

Value changed(const Text& text, const Arguments& arguments, Case wanted) {
  arguments.at_most(0);
  return in_case(text, wanted);
}

Value without_affix(const Text& text, const Arguments& arguments, bool at_end) {
  const std::string& part = only_text(arguments, "removeprefix").bytes;
  if (part.empty() || !(at_end ? text.view().ends_with(part) : text.view().starts_with(part))) return text;
  return at_end ? text.part(0, text.size() - part.size()) : text.part(part.size(), text.size());
}

Value counted_in(const Text& text, const Arguments& arguments) {
  const std::string& part = only_text(arguments, "count").bytes;
  if (part.empty()) return static_cast<std::int64_t>(utf8_characters(text.bytes) + 1);
  std::int64_t count = 0;
  for (auto at = text.bytes.find(part); at != std::string::npos; at = text.bytes.find(part, at + part.size()))
    ++count;
  return count;
}

bool is_digit(char32_t c) { return u_charDigitValue(static_cast<UChar32>(c)) >= 0; }
bool is_letter(char32_t c) { return u_isalpha(static_cast<UChar32>(c)); }

using T = const Text&;
using A = const Arguments&;
using B = Budget&;

const std::unordered_map<std::string, TextMethod>& text_methods() {
  static const std::unordered_map<std::string, TextMethod> methods = {
      {"split", [](T text, A arguments, B) -> Value { return split_text(text, arguments, false); }},
      {"rsplit", [](T text, A arguments, B) -> Value { return split_text(text, arguments, true); }},
      {"splitlines",
       [](T text, A arguments, B) -> Value {
         arguments.at_most(1, {"keepends"});
         const Value* keep = arguments.find(0, "keepends");
         return as_values(split_lines(text, keep && keep->truth()));
       }},
      {"strip", [](T text, A arguments, B) -> Value { return strip(text, arguments, true, true); }},
      {"lstrip", [](T text, A arguments, B) -> Value { return strip(text, arguments, true, false); }},
      {"rstrip", [](T text, A arguments, B) -> Value { return strip(text, arguments, false, true); }},
      {"startswith", [](T text, A arguments, B) -> Value { return affixed(text, arguments, false); }},
      {"endswith", [](T text, A arguments, B) -> Value { return affixed(text, arguments, true); }},
      {"removeprefix", [](T text, A arguments, B) -> Value { return without_affix(text, arguments, false); }},
      {"removesuffix", [](T text, A arguments, B) -> Value { return without_affix(text, arguments, true); }},
      {"replace",
       [](T text, A arguments, B budget) -> Value { return replaced_text(text, arguments, budget); }},
      {"join", [](T text, A arguments, B budget) -> Value { return joined_texts(text, arguments, budget); }},
      {"upper", [](T text, A arguments, B) -> Value { return changed(text, arguments, Case::upper); }},
      {"lower", [](T text, A arguments, B) -> Value { return changed(text, arguments, Case::lower); }},
      {"capitalize",
       [](T text, A arguments, B) -> Value { return changed(text, arguments, Case::capitalized); }},
      {"title", [](T text, A arguments, B) -> Value { return changed(text, arguments, Case::title); }},
      {"swapcase", [](T text, A arguments, B) -> Value { return changed(text, arguments, Case::swapped); }},
      {"find", [](T text, A arguments, B) -> Value { return found_at(text, arguments, false); }},
      {"rfind", [](T text, A arguments, B) -> Value { return found_at(text, arguments, true); }},
      {"index", [](T text, A arguments, B) -> Value { return index_of(text, arguments, false); }},
      {"rindex", [](T text, A arguments, B) -> Value { return index_of(text, arguments, true); }},
      {"count", [](T text, A arguments, B) -> Value { return counted_in(text, arguments); }},
      {"partition", [](T text, A arguments, B) -> Value { return partitioned(text, arguments, false); }},
      {"rpartition", [](T text, A arguments, B) -> Value { return partitioned(text, arguments, true); }},
      {"ljust",
       [](T text, A arguments, B budget) -> Value { return padded(text, arguments, Side::right, budget); }},
      {"rjust",
       [](T text, A arguments, B budget) -> Value { return padded(text, arguments, Side::left, budget); }},
      {"center",
       [](T text, A arguments, B budget) -> Value { return padded(text, arguments, Side::both, budget); }},
      {"isdigit", [](T text, A arguments, B) -> Value { return all_are(text, arguments, is_digit); }},
      {"isnumeric", [](T text, A arguments, B) -> Value { return all_are(text, arguments, is_digit); }},
      {"isdecimal", [](T text, A arguments, B) -> Value { return all_are(text, arguments, is_digit); }},
      {"isalpha", [](T text, A arguments, B) -> Value { return all_are(text, arguments, is_letter); }},
      {"isalnum",
       [](T text, A arguments, B) -> Value {
         return all_are(text, arguments, [](char32_t c) { return is_letter(c) || is_digit(c); });
       }},
      {"isspace", [](T text, A arguments, B) -> Value { return all_are(text, arguments, is_python_space); }},
      {"isupper",
       [](T text, A arguments, B) -> Value {
         return is_cased(text, arguments, UCHAR_UPPERCASE, UCHAR_LOWERCASE);
       }},
      {"islower",
       [](T text, A arguments, B) -> Value {
         return is_cased(text, arguments, UCHAR_LOWERCASE, UCHAR_UPPERCASE);
       }},
  };
  return methods;
}

Value tuple_of(Value first, Value second) {
  return Value(Values{std::move(first), std::move(second)}, ListKind::tuple);
}

Value dict_method(const Value& object, const std::string& name, const Arguments& arguments) {
  const Dict& dict = *object.dict();
  if (name == "get") {
    arguments.at_most(2, {"default"});
    if (arguments.positional.empty()) throw TemplateError("calls get() without a key");
    const Value *found = dict.find(arguments.positional.front()), *fallback = arguments.find(1, "default");
    return found ? *found : fallback ? *fallback : Value(None{});
  }
  arguments.at_most(0);
  if (name == "copy") return object;
  Values values;
  for (const auto& [key, value] : dict.entries())
    values.push_back(name == "keys" ? key : name == "values" ? value : tuple_of(key, value));
  return Value(std::move(values), ListKind::view);
}

Value list_method(const Value& object, const std::string& name, const Arguments& arguments) {
  const Values& values = object.list()->values;
  if (name == "copy") return object;
  arguments.at_most(1);
  if (arguments.positional.empty()) throw TemplateError("calls " + name + "() without a value");
  const auto same = [&](const Value& each) { return equal(each, arguments.positional.front()); };
  if (name == "count") return static_cast<std::int64_t>(std::ranges::count_if(values, same));
  const auto found = std::ranges::find_if(values, same);
  if (found == values.end()) throw TemplateError("looks for the index of a value that is not in the list");
  return found - values.begin();
}

bool is_any(const std::string& name, std::initializer_list<const char*> names) {
  return std::ranges::find(names, name) != names.end();
}

Value bound(const Value& object, const std::string& name, std::function<Value(const Arguments&)> call) {
  Function function{.name = name, .call = std::move(call)};
  function.extent.add(object);
  return function;
}

}  // namespace

Value method(const Value& object, const std::string& name, Budget& budget) {
  if (object.text()) {
    const auto found = text_methods().find(name);
    if (found == text_methods().end()) return {};
    return bound(object, name, [object, call = found->second, &budget](const Arguments& arguments) {
      budget.spend(object.text()->size() / 8);
      return call(*object.text(), arguments, budget);
    });
  }
  if (object.dict() && is_any(name, {"get", "items", "keys", "values", "copy"})) {
    return bound(object, name, [object, name, &budget](const Arguments& arguments) {
      if (name != "get") budget.spend(object.dict()->entries().size());
      return dict_method(object, name, arguments);
    });
  }
  const bool changes = (object.dict() && is_any(name, {"pop", "update", "clear", "setdefault", "popitem"})) ||
                       (object.list() && is_any(name, {"append", "extend", "insert", "pop", "remove", "clear",
                                                       "sort", "reverse"}));
  if (changes) {
    return bound(object, name, [name, type = object.type()](const Arguments&) -> Value {
      throw TemplateError("changes " + type + " with " + name + "(), which a template may not do");
    });
  }
  if (object.list() && is_any(name, {"index", "count", "copy"})) {
    return bound(object, name, [object, name, &budget](const Arguments& arguments) {
      budget.spend(object.list()->values.size());
      return list_method(object, name, arguments);
    });
  }
  return {};
}

}  // namespace runner::jinja
