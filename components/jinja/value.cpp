#include "components/jinja/value.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

// Equal keys of a dict have equal texts: 1, 1.0 and true are the same key.
std::string key_text(const Value& key) {
  if (const Text* text = key.text()) return "'" + text->bytes;
  if (key.is_none()) return "None";
  if (key.is_undefined()) return "Undefined";
  if (const auto integer = as_integer(key)) return std::to_string(*integer);
  if (const double* real = key.real()) {
    constexpr double exact = 9e15;
    if (*real == std::floor(*real) && std::abs(*real) < exact)
      return std::to_string(static_cast<std::int64_t>(*real));
    return printed(key).bytes;
  }
  if (const List* list = key.list(); list && list->kind == ListKind::tuple) {
    std::string text = "(";
    for (const Value& each : list->values) {
      const std::string one = key_text(each);
      text += std::to_string(one.size()) + ":" + one;
    }
    return text;
  }
  throw TemplateError("uses " + key.type() + " as the key of a dict");
}

template <class T>
int order(const T& left, const T& right) {
  return left < right ? -1 : right < left ? 1 : 0;
}

bool equal_dicts(const Dict& left, const Dict& right) {
  if (left.entries().size() != right.entries().size()) return false;
  return std::ranges::all_of(left.entries(), [&](const auto& entry) {
    const Value* other = right.find(entry.first);
    return other && equal(entry.second, *other);
  });
}

}  // namespace

Budget::Depth::Depth(Budget& budget) : budget_(budget) {
  constexpr std::size_t deepest = 600;
  if (budget_.depth_ >= deepest) throw TemplateError("is nested too deep, or calls itself without an end");
  ++budget_.depth_;
}

void Extent::add(const Value& value) {
  constexpr std::size_t deepest = 100, heaviest = 1 << 26;
  const Extent other = value.extent();
  depth = std::max(depth, other.depth + 1);
  weight += other.weight;
  if (depth > deepest) throw TemplateError("nests lists more than 100 deep");
  if (weight > heaviest) throw TemplateError("makes a list or dict that is too large");
}

List::List(Values all, ListKind kind_) : values(std::move(all)), kind(kind_) {
  for (const Value& each : values) extent.add(each);
}

const Value* Dict::find(const Value& key) const {
  const auto found = index_.find(key_text(key));
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

void Dict::set(const Value& key, Value value) {
  extent_.add(key);
  extent_.add(value);
  const auto [at, added] = index_.try_emplace(key_text(key), entries_.size());
  if (added) {
    entries_.emplace_back(key, std::move(value));
  } else {
    entries_[at->second].second = std::move(value);
  }
}

const Value* Arguments::find(std::size_t position, std::string_view name) const {
  if (position < positional.size()) return &positional[position];
  for (const auto& [key, value] : named)
    if (key == name) return &value;
  return nullptr;
}

void Arguments::at_most(std::size_t count, std::initializer_list<std::string_view> names) const {
  if (positional.size() > count)
    throw TemplateError("gives " + counted(positional.size(), "argument") + " where at most " +
                        std::to_string(count) + " can be");
  for (const auto& [key, value] : named)
    if (std::ranges::find(names, key) == names.end())
      throw TemplateError("gives an argument " + in_quotes(key) + " that is not known");
}

Value::Value(Values values, ListKind kind) : data_(std::make_shared<const List>(std::move(values), kind)) {}
Value::Value(Dict dict) : data_(std::make_shared<const Dict>(std::move(dict))) {}
Value::Value(Function function) : data_(std::make_shared<const Function>(std::move(function))) {}

Value::Value(const nlohmann::ordered_json& json, Origin origin) : data_(None{}) {
  if (json.is_boolean()) {
    data_ = json.get<bool>();
  } else if (json.is_number_integer() && json <= std::numeric_limits<std::int64_t>::max()) {
    data_ = json.get<std::int64_t>();
  } else if (json.is_number()) {
    data_ = json.get<double>();
  } else if (json.is_string()) {
    data_ = std::make_shared<const Text>(json.get<std::string>(), origin);
  } else if (json.is_array()) {
    Values values;
    for (const auto& each : json) values.emplace_back(each, origin);
    *this = Value(std::move(values));
  } else if (json.is_object()) {
    Dict dict;
    for (const auto& [key, each] : json.items()) dict.set(Value(Text(key, origin)), Value(each, origin));
    *this = Value(std::move(dict));
  }
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (boolean()) return *boolean();
  if (integer()) return *integer() != 0;
  if (real()) return *real() != 0;
  if (text()) return !text()->empty();
  if (list()) return list()->kind == ListKind::generator || !list()->values.empty();
  if (dict()) return !dict()->entries().empty();
  return true;
}

Extent Value::extent() const {
  if (text()) return {.depth = 1, .weight = 1 + text()->size()};
  if (list()) return list()->extent;
  if (dict()) return dict()->extent();
  if (function()) return function()->extent;
  return {};
}

std::string Value::type() const {
  if (const Undefined* missing = undefined())
    return missing->name.empty() ? "an undefined value" : in_quotes(missing->name) + ", which is undefined,";
  if (is_none()) return "none";
  if (boolean()) return "a boolean";
  if (integer()) return "an integer";
  if (real()) return "a float";
  if (text()) return "a string";
  if (dict()) return "a dict";
  if (space()) return "a namespace";
  if (function()) return "a function";
  return list()->kind == ListKind::tuple       ? "a tuple"
         : list()->kind == ListKind::generator ? "a generator"
                                               : "a list";
}

std::optional<std::int64_t> as_integer(const Value& value) {
  if (value.integer()) return *value.integer();
  if (value.boolean()) return *value.boolean() ? 1 : 0;
  return std::nullopt;
}

std::optional<double> as_number(const Value& value) {
  if (value.real()) return *value.real();
  const auto integer = as_integer(value);
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

std::int64_t need_integer(const Value& value, std::string_view what) {
  const auto integer = as_integer(value);
  if (!integer) throw TemplateError("needs an integer for " + std::string(what) + ", not " + value.type());
  return *integer;
}

const Text& need_text(const Value& value, std::string_view what) {
  if (!value.text()) throw TemplateError("needs a string for " + std::string(what) + ", not " + value.type());
  return *value.text();
}

Values iterated(const Value& value) {
  if (value.is_undefined()) return {};
  if (const List* list = value.list()) {
    if (list->kind == ListKind::generator && std::exchange(list->used, true)) return {};
    return list->values;
  }
  Values values;
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, unused] : dict->entries()) values.push_back(key);
    return values;
  }
  if (const Text* text = value.text()) {
    const auto starts = character_starts(text->bytes);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
      values.emplace_back(text->part(starts[i], starts[i + 1]));
    return values;
  }
  throw TemplateError("goes through " + value.type() + " as if it were a list");
}

bool equal(const Value& left, const Value& right) {
  if (left.text() && right.text()) return left.text()->bytes == right.text()->bytes;
  const auto a = as_number(left), b = as_number(right);
  if (a && b) return as_integer(left) && as_integer(right) ? as_integer(left) == as_integer(right) : *a == *b;
  if (left.list() && right.list()) {
    return (left.list()->kind == ListKind::tuple) == (right.list()->kind == ListKind::tuple) &&
           std::ranges::equal(left.list()->values, right.list()->values, equal);
  }
  if (left.dict() && right.dict()) return equal_dicts(*left.dict(), *right.dict());
  if (left.space() || right.space()) return left.space() == right.space();
  if (left.function() || right.function()) return left.function() == right.function();
  return (left.is_none() && right.is_none()) || (left.is_undefined() && right.is_undefined());
}

int compare(const Value& left, const Value& right) {
  if (left.text() && right.text()) return order(left.text()->bytes, right.text()->bytes);
  if (as_integer(left) && as_integer(right)) return order(*as_integer(left), *as_integer(right));
  const auto a = as_number(left), b = as_number(right);
  if (a && b) return order(*a, *b);
  if (left.list() && right.list()) {
    const Values &first = left.list()->values, &second = right.list()->values;
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
      if (!equal(first[i], second[i])) return compare(first[i], second[i]);
    return order(first.size(), second.size());
  }
  throw TemplateError("compares " + left.type() + " with " + right.type());
}

}  // namespace runner::jinja
