#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <variant>

#include "components/jinja/text.hpp"

namespace runner::jinja {

// What() goes on after "the template, in line 3, ".
struct TemplateError : std::runtime_error {
  using std::runtime_error::runtime_error;
  std::size_t line = 0;
};
// The template itself refused its input, with raise_exception().
struct TemplateRefusal : TemplateError {
  using TemplateError::TemplateError;
};

// What a rendering may still use. A template comes with a model from elsewhere: it may not loop forever or
// fill the memory.
class Budget {
 public:
  void spend(std::size_t work) {
    if (work > left_)
      throw TemplateError("takes too many steps or too much memory: it may not loop like this");
    left_ -= work;
  }
  struct Depth {
    explicit Depth(Budget& budget);
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ~Depth() { --budget_.depth_; }

   private:
    Budget& budget_;
  };

 private:
  std::size_t left_ = 20'000'000, depth_ = 0;
};

class Value;
using Values = std::vector<Value>;

struct Undefined {
  std::string name;  // for messages
};
struct None {};

struct List;
class Dict;
struct Namespace;
struct Function;
enum class ListKind { list, tuple, view, generator };

// How deep a value is nested and how much there is to print: both limited when it is made, for a list that
// contains another one twice, many times over, would otherwise never end.
struct Extent {
  std::size_t depth = 1, weight = 1;
  void add(const Value& value);
};

// A value of Python, as far as templates see it.
class Value {
 public:
  Value() : data_(Undefined{}) {}
  Value(Undefined undefined) : data_(std::move(undefined)) {}
  Value(None) : data_(None{}) {}
  Value(bool value) : data_(value) {}
  Value(std::int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(Text text) : data_(std::make_shared<const Text>(std::move(text))) {}
  Value(const char* text) : Value(Text(text)) {}
  Value(Values values, ListKind kind = ListKind::list);
  Value(Dict dict);
  Value(std::shared_ptr<Namespace> space) : data_(std::move(space)) {}
  Value(Function function);
  Value(const nlohmann::ordered_json& json, Origin origin);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const Undefined* undefined() const { return std::get_if<Undefined>(&data_); }
  const Text* text() const { return get<const Text>(); }
  const List* list() const { return get<const List>(); }
  const Dict* dict() const { return get<const Dict>(); }
  Namespace* space() const { return get<Namespace>(); }
  const Function* function() const { return get<const Function>(); }

  bool truth() const;
  Extent extent() const;
  std::string type() const;  // as Python's messages call it

 private:
  template <class T>
  T* get() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&data_);
    return held ? held->get() : nullptr;
  }

  std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const Text>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<Namespace>,
               std::shared_ptr<const Function>>
      data_;
};

// A list; what it is called in Python decides how it is printed and whether it has a length.
struct List {
  using Kind = ListKind;
  List(Values all, ListKind kind_);
  Values values;
  Kind kind;
  Extent extent = {};
  mutable bool used = false;  // a generator gives its values only once
};

// In the order of insertion.
class Dict {
 public:
  const Value* find(const Value& key) const;
  void set(const Value& key, Value value);
  const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }
  const Extent& extent() const { return extent_; }

 private:
  Extent extent_;
  std::vector<std::pair<Value, Value>> entries_;
  std::unordered_map<std::string, std::size_t> index_;
};

// The only thing that a template can change.
struct Namespace {
  std::unordered_map<std::string, Value> values;
};

// What a function is called with.
struct Arguments {
  Values positional = {};
  std::vector<std::pair<std::string, Value>> named = {};

  const Value* find(std::size_t position, std::string_view name) const;
  void at_most(std::size_t count, std::initializer_list<std::string_view> names = {}) const;
};

struct Function {
  std::string name;
  std::function<Value(const Arguments&)> call;
  std::unordered_map<std::string, Value> attributes = {};  // of a loop, which is a function, too
  Extent extent = {};                                      // of what it holds
};

bool equal(const Value& left, const Value& right);
// Below 0, 0 or above; throws if Python does not compare them.
int compare(const Value& left, const Value& right);

// A number where Python takes one: true is 1.
std::optional<double> as_number(const Value& value);
std::optional<std::int64_t> as_integer(const Value& value);

std::int64_t need_integer(const Value& value, std::string_view what);
const Text& need_text(const Value& value, std::string_view what);
// What a for loop goes through: the values of a list, the keys of a dict, the characters of a text.
Values iterated(const Value& value);

// str(), repr() and json.dumps() of Python.
Text printed(const Value& value);
Text represented(const Value& value);
struct JsonStyle {
  std::optional<Text> indent = {};
  std::optional<std::pair<Text, Text>> separators = {};  // between items, after keys
  bool sort_keys = false, ascii = false;
};
Text as_json(const Value& value, const JsonStyle& style);

// obj.name and obj[key]; undefined if there is no such thing.
Value attribute(const Value& object, const std::string& name, Budget& budget);
Value item(const Value& object, const Value& key, Budget& budget);
Value slice(const Value& object, const Value& begin, const Value& end, const Value& step);
// A method of a text, dict or list; undefined if it has none of that name.
Value method(const Value& object, const std::string& name, Budget& budget);

Value binary(std::string_view sign, const Value& left, const Value& right, Budget& budget);
bool contains(const Value& all, const Value& one);
Text html_escaped(Text text, Budget& budget);

using Filter = Value (*)(const Value& value, const Arguments& arguments, Budget& budget);
using Test = bool (*)(const Value& value, const Arguments& arguments);
Filter find_filter(const std::string& name);  // null if there is none
Test find_test(const std::string& name);
// range(), dict(), raise_exception(), strftime_now(): namespace() is the interpreter's.
Value find_function(const std::string& name, Budget& budget);

}  // namespace runner::jinja
