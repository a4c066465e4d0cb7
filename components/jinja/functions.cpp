#include <algorithm>
#include <cmath>
#include <ctime>

#include "components/jinja/value.hpp"
#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

const Value& other(const Arguments& arguments) {
  arguments.at_most(1);
  if (arguments.positional.empty()) throw TemplateError("uses a test without the value to compare with");
  return arguments.positional.front();
}

bool is_sequence(const Value& value) {
  return value.text() || value.dict() || value.is_undefined() ||
         (value.list() && (value.list()->kind == ListKind::list || value.list()->kind == ListKind::tuple));
}

bool is_true_integer(const Value& value, const Arguments& arguments, std::int64_t remainder) {
  arguments.at_most(0);
  return std::abs(need_integer(value, "odd or even") % 2) == remainder;
}

bool same_case(const Value& value, Case wanted) {
  const Text text = printed(value);
  return in_case(text, wanted).bytes == text.bytes &&
         in_case(text, Case::lower).bytes != in_case(text, Case::upper).bytes;
}

using V = const Value&;
using A = const Arguments&;

const std::unordered_map<std::string, Test>& tests() {
  static const std::unordered_map<std::string, Test> all = [] {
    std::unordered_map<std::string, Test> made = {
        {"defined", [](V value, A) -> bool { return !value.is_undefined(); }},
        {"undefined", [](V value, A) -> bool { return value.is_undefined(); }},
        {"none", [](V value, A) -> bool { return value.is_none(); }},
        {"boolean", [](V value, A) -> bool { return value.boolean() != nullptr; }},
        {"true", [](V value, A) -> bool { return value.boolean() && *value.boolean(); }},
        {"false", [](V value, A) -> bool { return value.boolean() && !*value.boolean(); }},
        {"integer", [](V value, A) -> bool { return value.integer() != nullptr; }},
        {"float", [](V value, A) -> bool { return value.real() != nullptr; }},
        {"number", [](V value, A) -> bool { return as_number(value).has_value(); }},
        {"string", [](V value, A) -> bool { return value.text() != nullptr; }},
        {"mapping", [](V value, A) -> bool { return value.dict() != nullptr; }},
        {"sequence", [](V value, A) -> bool { return is_sequence(value); }},
        {"iterable", [](V value, A) -> bool { return is_sequence(value) || value.list(); }},
        {"callable", [](V value, A) -> bool { return value.function() || value.is_undefined(); }},
        {"odd", [](V value, A arguments) -> bool { return is_true_integer(value, arguments, 1); }},
        {"even", [](V value, A arguments) -> bool { return is_true_integer(value, arguments, 0); }},
        {"divisibleby",
         [](V value, A arguments) -> bool {
           const std::int64_t by = need_integer(other(arguments), "divisibleby");
           if (by == 0) throw TemplateError("divides by zero");
           return by == -1 || need_integer(value, "divisibleby") % by == 0;
         }},
        {"lower", [](V value, A) -> bool { return same_case(value, Case::lower); }},
        {"upper", [](V value, A) -> bool { return same_case(value, Case::upper); }},
        {"in", [](V value, A arguments) -> bool { return contains(other(arguments), value); }},
        {"eq", [](V value, A arguments) -> bool { return equal(value, other(arguments)); }},
        {"ne", [](V value, A arguments) -> bool { return !equal(value, other(arguments)); }},
        {"lt", [](V value, A arguments) -> bool { return compare(value, other(arguments)) < 0; }},
        {"le", [](V value, A arguments) -> bool { return compare(value, other(arguments)) <= 0; }},
        {"gt", [](V value, A arguments) -> bool { return compare(value, other(arguments)) > 0; }},
        {"ge", [](V value, A arguments) -> bool { return compare(value, other(arguments)) >= 0; }},
        {"sameas",
         [](V value, A arguments) -> bool {
           const Value& with = other(arguments);
           return equal(value, with) && value.type() == with.type();
         }},
        {"filter",
         [](V value, A) -> bool {
           return find_filter(need_text(value, "a filter's name").bytes) != nullptr;
         }},
        {"test",
         [](V value, A) -> bool { return find_test(need_text(value, "a test's name").bytes) != nullptr; }},
    };
    for (const auto& [name, meaning] : {std::pair("equalto", "eq"),
                                        {"==", "eq"},
                                        {"!=", "ne"},
                                        {"<", "lt"},
                                        {"lessthan", "lt"},
                                        {"<=", "le"},
                                        {">", "gt"},
                                        {"greaterthan", "gt"},
                                        {">=", "ge"}}) {
      made.emplace(name, made.at(meaning));
    }
    return made;
  }();
  return all;
}

Value range(const Arguments& arguments, Budget& budget) {
  arguments.at_most(3);
  const Values& given = arguments.positional;
  if (given.empty()) throw TemplateError("calls range() without an argument");
  const std::int64_t first = given.size() > 1 ? need_integer(given[0], "range()") : 0;
  const std::int64_t last = need_integer(given[given.size() > 1 ? 1 : 0], "range()");
  const std::int64_t step = given.size() > 2 ? need_integer(given[2], "range()") : 1;
  if (step == 0) throw TemplateError("calls range() with a step of 0");
  constexpr std::size_t most = 100'000;  // as the sandbox of Jinja
  Values values;
  for (std::int64_t i = first; step > 0 ? i < last : i > last;) {
    if (values.size() >= most) throw TemplateError("makes a range of more than 100000 numbers");
    budget.spend(1);
    values.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return values;
}

Value date(const Arguments& arguments) {
  arguments.at_most(1);
  if (arguments.positional.empty()) throw TemplateError("calls strftime_now() without a format");
  const std::string& format = need_text(arguments.positional.front(), "strftime_now()").bytes;
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[512];
  const std::size_t size = std::strftime(text, sizeof text, format.c_str(), &local);
  return Text(std::string(text, size));
}

Value dict_of(const Arguments& arguments) {
  Dict dict;
  if (!arguments.positional.empty()) {
    if (!arguments.positional.front().dict())
      throw TemplateError("makes a dict of " + arguments.positional.front().type());
    dict = *arguments.positional.front().dict();
  }
  for (const auto& [name, value] : arguments.named) dict.set(Value(Text(name)), value);
  return dict;
}

}  // namespace

Test find_test(const std::string& name) {
  const auto found = tests().find(name);
  return found == tests().end() ? nullptr : found->second;
}

Value find_function(const std::string& name, Budget& budget) {
  const auto function = [&](std::function<Value(const Arguments&)> call) {
    return Value(Function{.name = name, .call = std::move(call)});
  };
  if (name == "range")
    return function([&budget](const Arguments& arguments) { return range(arguments, budget); });
  if (name == "dict") return function(dict_of);
  if (name == "strftime_now") return function(date);
  if (name == "raise_exception") {
    return function([](const Arguments& arguments) -> Value {
      throw TemplateRefusal(
          arguments.positional.empty() ? "" : shown_message(printed(arguments.positional.front()).bytes));
    });
  }
  return Undefined{name};
}

}  // namespace runner::jinja
