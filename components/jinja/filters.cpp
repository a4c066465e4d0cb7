#include <algorithm>
#include <cmath>
#include <utility>

#include "components/jinja/value.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

// A name that may have several steps, as in map(attribute="function.name").
Value path_of(const Value& object, const std::string& path, Budget& budget) {
  Value found = object;
  for (const Text& step : split(Text(path), ".", -1)) {
    const bool number =
        !step.empty() && std::ranges::all_of(step.bytes, [](char c) { return c >= '0' && c <= '9'; });
    if (found.is_undefined()) return found;
    found = item(found,
                 number ? Value(static_cast<std::int64_t>(std::stoll(step.bytes.substr(0, 9)))) : Value(step),
                 budget);
  }
  return found;
}

Value lower_if(const Value& value, bool case_sensitive) {
  return value.text() && !case_sensitive ? Value(in_case(*value.text(), Case::lower)) : value;
}

bool flag(const Arguments& arguments, std::size_t position, const char* name, bool fallback = false) {
  const Value* found = arguments.find(position, name);
  return found ? found->truth() : fallback;
}

std::optional<std::string> word(const Arguments& arguments, std::size_t position, const char* name) {
  const Value* found = arguments.find(position, name);
  if (!found || found->is_none()) return std::nullopt;
  return need_text(*found, name).bytes;
}

Text text_of(const Value& value) { return printed(value); }

Value length(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(0);
  if (value.is_undefined()) return std::int64_t{0};
  if (value.text()) return static_cast<std::int64_t>(utf8_characters(value.text()->bytes));
  if (value.dict()) return static_cast<std::int64_t>(value.dict()->entries().size());
  if (value.list() && value.list()->kind != ListKind::generator)
    return static_cast<std::int64_t>(value.list()->values.size());
  throw TemplateError("asks for the length of " + value.type());
}

Value otherwise(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(2, {"default_value", "boolean"});
  const bool use = value.is_undefined() || (flag(arguments, 1, "boolean") && !value.truth());
  const Value* fallback = arguments.find(0, "default_value");
  return !use ? value : fallback ? *fallback : Value(Text());
}

Value trim(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(1, {"chars"});
  const auto characters = word(arguments, 0, "chars");
  return stripped(text_of(value), true, true, characters ? &*characters : nullptr);
}

Value to_json(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(4, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = flag(arguments, 0, "ensure_ascii");
  style.sort_keys = flag(arguments, 3, "sort_keys");
  if (const Value* indent = arguments.find(1, "indent"); indent && !indent->is_none()) {
    constexpr std::int64_t widest = 100;
    style.indent = indent->text() ? *indent->text()
                                  : Text(std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(
                                                         need_integer(*indent, "indent"), 0, widest)),
                                                     ' '));
  }
  if (const Value* given = arguments.find(2, "separators"); given && !given->is_none()) {
    if (!given->list() || given->list()->values.size() != 2)
      throw TemplateError("gives tojson separators that are no pair");
    style.separators = {need_text(given->list()->values[0], "separators"),
                        need_text(given->list()->values[1], "separators")};
  }
  Text json = as_json(value, style);
  budget.spend(json.size());
  return json;
}

Value join(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(2, {"d", "attribute"});
  const Value* given = arguments.find(0, "d");
  const Text between = given ? text_of(*given) : Text();
  const auto path = word(arguments, 1, "attribute");
  Text out;
  bool first = true;
  for (const Value& each : iterated(value)) {
    const Text part = text_of(path ? path_of(each, *path, budget) : each);
    budget.spend(part.size() + between.size() + 1);
    if (!std::exchange(first, false)) out.append(between);
    out.append(part);
  }
  return out;
}

Value replace(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(3, {"old", "new", "count"});
  const Value *from = arguments.find(0, "old"), *to = arguments.find(1, "new"),
              *most = arguments.find(2, "count");
  if (!from || !to) throw TemplateError("calls replace without what to put there");
  const Text text = text_of(value), old = text_of(*from), fresh = text_of(*to);
  budget.spend((text.size() / std::max<std::size_t>(1, old.size()) + 1) * (fresh.size() + 1) + text.size());
  return replaced(text, old.bytes, fresh, most && !most->is_none() ? need_integer(*most, "count") : -1);
}

Value indent(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(3, {"width", "first", "blank"});
  const Value* width = arguments.find(0, "width");
  constexpr std::int64_t usual = 4, widest = 1000;
  Text margin;
  if (width && width->text()) {
    margin = *width->text();
  } else {
    const std::int64_t spaces = width ? need_integer(*width, "width") : usual;
    margin = Text(std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(spaces, 0, widest)), ' '));
  }
  const bool first = flag(arguments, 1, "first"), blank = flag(arguments, 2, "blank");
  Text whole = text_of(value);
  whole.append("\n");  // as the filter of Jinja does, so that a last empty line counts
  const std::vector<Text> lines = split_lines(whole, false);
  Text out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    budget.spend(lines[i].size() + margin.size() + 1);
    if (i > 0) out.append("\n");
    if (i == 0 ? first : blank || !lines[i].empty()) out.append(margin);
    out.append(lines[i]);
  }
  return out;
}

Value sorted_by(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(3, {"reverse", "case_sensitive", "attribute"});
  const bool reverse = flag(arguments, 0, "reverse"), exact = flag(arguments, 1, "case_sensitive");
  const auto path = word(arguments, 2, "attribute");
  Values values = iterated(value);
  budget.spend(values.size() * 20);
  const auto key = [&](const Value& each) {
    return lower_if(path ? path_of(each, *path, budget) : each, exact);
  };
  std::ranges::stable_sort(values, [&](const Value& a, const Value& b) {
    return reverse ? compare(key(b), key(a)) < 0 : compare(key(a), key(b)) < 0;
  });
  return values;
}

Value dict_sorted(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(3, {"case_sensitive", "by", "reverse"});
  if (!value.dict()) throw TemplateError("sorts " + value.type() + " as a dict");
  const bool exact = flag(arguments, 0, "case_sensitive"), reverse = flag(arguments, 2, "reverse");
  const std::size_t by = word(arguments, 1, "by").value_or("key") == "key" ? 0 : 1;
  Values items;
  for (const auto& [key, each] : value.dict()->entries())
    items.emplace_back(Values{key, each}, ListKind::tuple);
  budget.spend(items.size() * 20);
  std::ranges::stable_sort(items, [&](const Value& a, const Value& b) {
    const Value first = lower_if(a.list()->values[by], exact), second = lower_if(b.list()->values[by], exact);
    return (reverse ? compare(second, first) : compare(first, second)) < 0;
  });
  return items;
}

Value items(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(0);
  if (value.is_undefined()) return Value(Values{}, ListKind::generator);
  if (!value.dict()) throw TemplateError("takes the items of " + value.type());
  budget.spend(value.dict()->entries().size());
  Values pairs;
  for (const auto& [key, each] : value.dict()->entries())
    pairs.emplace_back(Values{key, each}, ListKind::tuple);
  return Value(std::move(pairs), ListKind::generator);
}

// map("name", ..) and map(attribute="name", default=..).
Value map(const Value& value, const Arguments& arguments, Budget& budget) {
  Values out;
  if (!value.truth()) return Value(std::move(out), ListKind::generator);
  const auto path = word(arguments, 99, "attribute");
  const Value* fallback = arguments.find(99, "default");
  const auto name = path ? std::nullopt : word(arguments, 0, "filter");
  const Filter filter = name ? find_filter(*name) : nullptr;
  if (!path && !filter)
    throw TemplateError("calls map with " +
                        (name ? "the filter " + in_quotes(*name) + ", which is not known" : "nothing to do"));
  Arguments rest;
  if (!path && !arguments.positional.empty()) {
    rest.positional.assign(arguments.positional.begin() + 1, arguments.positional.end());
    rest.named = arguments.named;
  }
  for (const Value& each : iterated(value)) {
    budget.spend(1);
    Value result = path ? path_of(each, *path, budget) : filter(each, rest, budget);
    out.push_back(path && fallback && result.is_undefined() ? *fallback : std::move(result));
  }
  return Value(std::move(out), ListKind::generator);
}

// select, reject, selectattr, rejectattr.
Value choose(const Value& value, const Arguments& arguments, Budget& budget, bool by_attribute, bool wanted) {
  std::size_t next = 0;
  std::optional<std::string> path, name;
  if (by_attribute) {
    path = word(arguments, next++, "attribute");
    if (!path) throw TemplateError("calls selectattr without an attribute");
  }
  name = word(arguments, next++, "test");
  const Test test = name ? find_test(*name) : nullptr;
  if (name && !test) throw TemplateError("uses the test " + in_quotes(*name) + ", which is not known");
  Arguments rest;
  if (next < arguments.positional.size())
    rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(next),
                           arguments.positional.end());
  Values out;
  if (!value.truth()) return Value(std::move(out), ListKind::generator);
  for (const Value& each : iterated(value)) {
    budget.spend(1);
    const Value subject = path ? path_of(each, *path, budget) : each;
    if ((test ? test(subject, rest) : subject.truth()) == wanted) out.push_back(each);
  }
  return Value(std::move(out), ListKind::generator);
}

Value extreme(const Value& value, const Arguments& arguments, Budget& budget, bool largest) {
  arguments.at_most(2, {"case_sensitive", "attribute"});
  const Values values = iterated(value);
  budget.spend(values.size());
  const bool exact = flag(arguments, 0, "case_sensitive");
  const auto path = word(arguments, 1, "attribute");
  const auto key = [&](const Value& each) {
    return lower_if(path ? path_of(each, *path, budget) : each, exact);
  };
  const auto less = [&](const Value& a, const Value& b) { return compare(key(a), key(b)) < 0; };
  if (values.empty()) return Undefined{largest ? "max" : "min"};
  if (!largest) return *std::ranges::min_element(values, less);
  const Value* best = &values.front();
  for (const Value& each : values)
    if (less(*best, each)) best = &each;
  return *best;
}

Value unique(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(2, {"case_sensitive", "attribute"});
  const bool exact = flag(arguments, 0, "case_sensitive");
  const auto path = word(arguments, 1, "attribute");
  Dict seen;
  Values out;
  for (const Value& each : iterated(value)) {
    budget.spend(1);
    const Value key = lower_if(path ? path_of(each, *path, budget) : each, exact);
    if (seen.find(key)) continue;
    seen.set(key, true);
    out.push_back(each);
  }
  return Value(std::move(out), ListKind::generator);
}

Value sum(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(2, {"attribute", "start"});
  const auto path = word(arguments, 0, "attribute");
  const Value* start = arguments.find(1, "start");
  Value total = start ? *start : Value(std::int64_t{0});
  for (const Value& each : iterated(value))
    total = binary("+", total, path ? path_of(each, *path, budget) : each, budget);
  return total;
}

Value reverse(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(0);
  Values values = iterated(value);
  budget.spend(values.size());
  std::ranges::reverse(values);
  if (!value.text()) return Value(std::move(values), ListKind::generator);
  Text out;
  for (const Value& each : values) out.append(*each.text());
  return out;
}

// Each word begins with a capital, as the filter of Jinja does it: a word begins after "-", "(", "{", "[",
// "<" or a space.
Value title(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(0);
  const Text text = text_of(value);
  const auto starts = character_starts(text.bytes);
  Text out;
  bool first = true;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const Text one = text.part(starts[i], starts[i + 1]);
    out.append(in_case(one, first ? Case::upper : Case::lower));
    first = std::string_view("-({[<").find(one.bytes) != std::string_view::npos ||
            stripped(one, true, false).empty();
  }
  return out;
}

Value to_int(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(2, {"default", "base"});
  const Value* fallback = arguments.find(0, "default");
  const Value otherwise_value = fallback ? *fallback : Value(std::int64_t{0});
  if (const auto number = as_number(value); number && std::abs(*number) < 9e18)
    return static_cast<std::int64_t>(*number);
  if (!value.text()) return otherwise_value;
  const std::string text = stripped(*value.text(), true, true).bytes;
  std::size_t used = 0;
  try {
    const std::int64_t number = std::stoll(text, &used);
    if (used == text.size()) return number;
    const double real = std::stod(text, &used);
    if (used == text.size() && std::abs(real) < 9e18) return static_cast<std::int64_t>(real);
  } catch (const std::logic_error&) {
  }
  return otherwise_value;
}

Value to_float(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(1, {"default"});
  const Value* fallback = arguments.find(0, "default");
  if (const auto number = as_number(value)) return *number;
  if (value.text()) {
    const std::string text = stripped(*value.text(), true, true).bytes;
    std::size_t used = 0;
    try {
      const double number = std::stod(text, &used);
      if (used == text.size()) return number;
    } catch (const std::logic_error&) {
    }
  }
  return fallback ? *fallback : Value(0.0);
}

Value rounded(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(2, {"precision", "method"});
  const Value* digits = arguments.find(0, "precision");
  const std::string how = word(arguments, 1, "method").value_or("common");
  const auto number = as_number(value);
  if (!number) throw TemplateError("rounds " + value.type());
  const double scale = std::pow(10.0, digits ? static_cast<double>(need_integer(*digits, "precision")) : 0.0);
  const double scaled = *number * scale;
  return (how == "ceil"    ? std::ceil(scaled)
          : how == "floor" ? std::floor(scaled)
                           : std::nearbyint(scaled)) /
         scale;
}

Value end_of(const Value& value, const Arguments& arguments, Budget& budget, bool last) {
  arguments.at_most(0);
  const Values values = iterated(value);
  budget.spend(values.size() / 8);
  if (values.empty()) return Undefined{last ? "the last of nothing" : "the first of nothing"};
  return last ? values.back() : values.front();
}

Value absolute(const Value& value, const Arguments&, Budget& budget) {
  const auto number = as_number(value);
  if (!number) throw TemplateError("takes the absolute value of " + value.type());
  return *number < 0 ? binary("-", std::int64_t{0}, value, budget) : value;
}

Value safe(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(0);
  Text text = text_of(value);
  text.markup = true;
  return text;
}

Value escaped(const Value& value, const Arguments& arguments, Budget& budget) {
  if (value.text() && value.text()->markup) return value;
  return safe(html_escaped(text_of(value), budget), arguments, budget);
}

Value as_list(const Value& value, const Arguments& arguments, Budget& budget) {
  arguments.at_most(0);
  Values values = iterated(value);
  budget.spend(values.size());
  return values;
}

Value as_text(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(0);
  return text_of(value);
}

Value formatted(const Value& value, const Arguments& arguments, Budget& budget) {
  return binary("%", Value(text_of(value)), Value(arguments.positional, ListKind::tuple), budget);
}

Value word_count(const Value& value, const Arguments& arguments, Budget&) {
  arguments.at_most(0);
  return static_cast<std::int64_t>(split_at_spaces(text_of(value), -1, false).size());
}

Value attribute_of(const Value& value, const Arguments& arguments, Budget& budget) {
  return attribute(value, word(arguments, 0, "name").value_or(""), budget);
}

template <bool by_attribute, bool wanted>
Value choose_as(const Value& value, const Arguments& arguments, Budget& budget) {
  return choose(value, arguments, budget, by_attribute, wanted);
}
template <bool largest>
Value extreme_of(const Value& value, const Arguments& arguments, Budget& budget) {
  return extreme(value, arguments, budget, largest);
}
template <bool last>
Value end_as(const Value& value, const Arguments& arguments, Budget& budget) {
  return end_of(value, arguments, budget, last);
}

// The methods of a text that are filters, too.
enum class Method { upper, lower, capitalize, center };
template <Method which>
Value method_of_text(const Value& value, const Arguments& arguments, Budget& budget) {
  constexpr const char* names[] = {"upper", "lower", "capitalize", "center"};
  return method(Value(text_of(value)), names[static_cast<int>(which)], budget).function()->call(arguments);
}

const std::unordered_map<std::string, Filter>& filters() {
  static const std::unordered_map<std::string, Filter> all = {
      {"abs", absolute},
      {"attr", attribute_of},
      {"capitalize", method_of_text<Method::capitalize>},
      {"center", method_of_text<Method::center>},
      {"count", length},
      {"d", otherwise},
      {"default", otherwise},
      {"dictsort", dict_sorted},
      {"e", escaped},
      {"escape", escaped},
      {"first", end_as<false>},
      {"float", to_float},
      {"forceescape", escaped},
      {"format", formatted},
      {"indent", indent},
      {"int", to_int},
      {"items", items},
      {"join", join},
      {"last", end_as<true>},
      {"length", length},
      {"list", as_list},
      {"lower", method_of_text<Method::lower>},
      {"map", map},
      {"max", extreme_of<true>},
      {"min", extreme_of<false>},
      {"reject", choose_as<false, false>},
      {"rejectattr", choose_as<true, false>},
      {"replace", replace},
      {"reverse", reverse},
      {"round", rounded},
      {"safe", safe},
      {"select", choose_as<false, true>},
      {"selectattr", choose_as<true, true>},
      {"sort", sorted_by},
      {"string", as_text},
      {"sum", sum},
      {"title", title},
      {"tojson", to_json},
      {"trim", trim},
      {"unique", unique},
      {"upper", method_of_text<Method::upper>},
      {"wordcount", word_count},
  };
  return all;
}

}  // namespace

Filter find_filter(const std::string& name) {
  const auto found = filters().find(name);
  return found == filters().end() ? nullptr : found->second;
}

}  // namespace runner::jinja
