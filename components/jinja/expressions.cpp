#include <algorithm>

#include "components/jinja/nodes.hpp"
#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

Value call(const Value& function, const Arguments& arguments) {
  if (!function.function()) throw TemplateError("calls " + function.type() + " as a function");
  if (!function.function()->call)
    throw TemplateError("calls " + function.function()->name + " as a function");
  return function.function()->call(arguments);
}

// namespace(a=1): the rendering empties it at its end, for it may hold itself.
Value make_space(Rendering& rendering) {
  return Function{.name = "namespace", .call = [&rendering](const Arguments& arguments) {
                    auto space = std::make_shared<Namespace>();
                    rendering.spaces.push_back(space);
                    for (const Value& each : arguments.positional) {
                      if (!each.dict()) throw TemplateError("makes a namespace of " + each.type());
                      for (const auto& [key, value] : each.dict()->entries())
                        space->values[printed(key).bytes] = value;
                    }
                    for (const auto& [name, value] : arguments.named) space->values[name] = value;
                    return Value(space);
                  }};
}

Value look_up(const std::string& name, Frame& frame) {
  if (const Value* found = frame.scope->find(name)) return *found;
  return name == "namespace" ? make_space(frame.rendering) : find_function(name, frame.rendering.budget);
}

// What comparing two values may cost beyond a step.
std::size_t cost(const Value& left, const Value& right) {
  constexpr std::size_t at_once = 32;
  return std::min(left.extent().weight, right.extent().weight) / at_once;
}

class Constant final : public Expression {
 public:
  Constant(std::size_t line, Value value) : Expression(line), value_(std::move(value)) {}
  Value evaluate(Frame&) const override { return value_; }
  std::optional<Value> constant() const override { return value_; }

 private:
  Value value_;
};

class Name final : public Expression {
 public:
  Name(std::size_t line, std::string name) : Expression(line), name_(std::move(name)) {}
  Value evaluate(Frame& frame) const override { return look_up(name_, frame); }

 private:
  std::string name_;
};

class ListOf final : public Expression {
 public:
  ListOf(std::size_t line, Expressions items, bool tuple)
      : Expression(line), items_(std::move(items)), kind_(tuple ? ListKind::tuple : ListKind::list) {}
  Value evaluate(Frame& frame) const override {
    Values values;
    for (const auto& item : items_) values.push_back(item->value(frame));
    return Value(std::move(values), kind_);
  }

 private:
  Expressions items_;
  ListKind kind_;
};

class DictOf final : public Expression {
 public:
  DictOf(std::size_t line, Expressions keys, Expressions values)
      : Expression(line), keys_(std::move(keys)), values_(std::move(values)) {}
  Value evaluate(Frame& frame) const override {
    Dict dict;
    for (std::size_t i = 0; i < keys_.size(); ++i) dict.set(keys_[i]->value(frame), values_[i]->value(frame));
    return dict;
  }

 private:
  Expressions keys_, values_;
};

class Attribute final : public Expression {
 public:
  Attribute(std::size_t line, Made object, std::string name)
      : Expression(line), object_(std::move(object)), name_(std::move(name)) {}
  Value evaluate(Frame& frame) const override {
    return attribute(object_->value(frame), name_, frame.rendering.budget);
  }

 private:
  Made object_;
  std::string name_;
};

class Item final : public Expression {
 public:
  Item(std::size_t line, Made object, Made key)
      : Expression(line), object_(std::move(object)), key_(std::move(key)) {}
  Value evaluate(Frame& frame) const override {
    const Value object = object_->value(frame);
    if (object.text()) frame.rendering.budget.spend(object.text()->size() / 8);
    return item(object, key_->value(frame), frame.rendering.budget);
  }

 private:
  Made object_, key_;
};

class Slice final : public Expression {
 public:
  Slice(std::size_t line, Made object, Made begin, Made end, Made step)
      : Expression(line),
        object_(std::move(object)),
        begin_(std::move(begin)),
        end_(std::move(end)),
        step_(std::move(step)) {}
  Value evaluate(Frame& frame) const override {
    const Value object = object_->value(frame);
    const auto bound = [&](const Made& made) { return made ? made->value(frame) : Value(None{}); };
    frame.rendering.budget.spend(object.text()   ? object.text()->size() / 4
                                 : object.list() ? object.list()->values.size()
                                                 : 1);
    return slice(object, bound(begin_), bound(end_), bound(step_));
  }

 private:
  Made object_, begin_, end_, step_;
};

class Call final : public Expression {
 public:
  Call(std::size_t line, Made function, CallArguments arguments)
      : Expression(line), function_(std::move(function)), arguments_(std::move(arguments)) {}
  Value evaluate(Frame& frame) const override {
    const Value function = function_->value(frame);
    return call(function, arguments_.values(frame));
  }

 private:
  Made function_;
  CallArguments arguments_;
};

// A template may ask whether there is a filter before it uses it: one that is not known is an error when it
// is used.
class Filtered final : public Expression {
 public:
  Filtered(std::size_t line, Made value, std::string name, CallArguments arguments)
      : Expression(line),
        value_(std::move(value)),
        name_(std::move(name)),
        filter_(find_filter(name_)),
        arguments_(std::move(arguments)) {}
  Value evaluate(Frame& frame) const override {
    if (!filter_) throw TemplateError("uses the filter " + in_quotes(name_) + ", which is not known");
    const Value value = value_->value(frame);
    constexpr std::size_t at_once = 64;
    frame.rendering.budget.spend(value.extent().weight / at_once);
    return filter_(value, arguments_.values(frame), frame.rendering.budget);
  }

 private:
  Made value_;
  std::string name_;
  Filter filter_;
  CallArguments arguments_;
};

class Tested final : public Expression {
 public:
  Tested(std::size_t line, Made value, std::string name, CallArguments arguments, bool negated)
      : Expression(line),
        value_(std::move(value)),
        name_(std::move(name)),
        test_(find_test(name_)),
        arguments_(std::move(arguments)),
        negated_(negated) {}
  Value evaluate(Frame& frame) const override {
    if (!test_) throw TemplateError("uses the test " + in_quotes(name_) + ", which is not known");
    const Value value = value_->value(frame);
    const Arguments arguments = arguments_.values(frame);
    for (const Value& each : arguments.positional) frame.rendering.budget.spend(cost(value, each));
    return test_(value, arguments) != negated_;
  }

 private:
  Made value_;
  std::string name_;
  Test test_;
  CallArguments arguments_;
  bool negated_;
};

class Binary final : public Expression {
 public:
  Binary(std::size_t line, std::string sign, Made left, Made right)
      : Expression(line), sign_(std::move(sign)), left_(std::move(left)), right_(std::move(right)) {}
  Value evaluate(Frame& frame) const override {
    const Value left = left_->value(frame), right = right_->value(frame);
    if (sign_ == "~" || sign_ == "%")
      frame.rendering.budget.spend(left.extent().weight + right.extent().weight);
    return binary(sign_, left, right, frame.rendering.budget);
  }

 private:
  std::string sign_;
  Made left_, right_;
};

class Logic final : public Expression {
 public:
  Logic(std::size_t line, bool both, Made left, Made right)
      : Expression(line), both_(both), left_(std::move(left)), right_(std::move(right)) {}
  Value evaluate(Frame& frame) const override {
    Value left = left_->value(frame);
    return left.truth() == both_ ? right_->value(frame) : left;
  }

 private:
  bool both_;
  Made left_, right_;
};

class Not final : public Expression {
 public:
  Not(std::size_t line, Made value) : Expression(line), value_(std::move(value)) {}
  Value evaluate(Frame& frame) const override { return !value_->value(frame).truth(); }

 private:
  Made value_;
};

class Comparison final : public Expression {
 public:
  Comparison(std::size_t line, Made first, std::vector<std::pair<std::string, Made>> rest)
      : Expression(line), first_(std::move(first)), rest_(std::move(rest)) {}
  Value evaluate(Frame& frame) const override {
    Value left = first_->value(frame);
    for (const auto& [sign, made] : rest_) {
      Value right = made->value(frame);
      const bool search = sign.ends_with("in");
      constexpr std::size_t at_once = 64;
      frame.rendering.budget.spend(search ? right.extent().weight / at_once : cost(left, right));
      if (!holds(sign, left, right)) return false;
      left = std::move(right);
    }
    return true;
  }

 private:
  static bool holds(const std::string& sign, const Value& left, const Value& right) {
    if (sign == "==") return equal(left, right);
    if (sign == "!=") return !equal(left, right);
    if (sign == "in") return contains(right, left);
    if (sign == "not in") return !contains(right, left);
    const int order = compare(left, right);
    return sign == "<" ? order < 0 : sign == "<=" ? order <= 0 : sign == ">" ? order > 0 : order >= 0;
  }

  Made first_;
  std::vector<std::pair<std::string, Made>> rest_;
};

class Choice final : public Expression {
 public:
  Choice(std::size_t line, Made condition, Made yes, Made no)
      : Expression(line), condition_(std::move(condition)), yes_(std::move(yes)), no_(std::move(no)) {}
  Value evaluate(Frame& frame) const override {
    if (condition_->value(frame).truth()) return yes_->value(frame);
    return no_ ? no_->value(frame) : Value();
  }

 private:
  Made condition_, yes_, no_;
};

}  // namespace

const Value* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope; scope = scope->outer.get()) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

Value Expression::value(Frame& frame) const {
  try {
    frame.rendering.budget.spend(1);
    const Budget::Depth depth(frame.rendering.budget);
    return evaluate(frame);
  } catch (TemplateError& error) {
    if (error.line == 0) error.line = line_;
    throw;
  }
}

Arguments CallArguments::values(Frame& frame) const {
  Arguments all;
  for (const auto& each : positional) all.positional.push_back(each->value(frame));
  if (more)
    for (Value& each : iterated(more->value(frame))) all.positional.push_back(std::move(each));
  for (const auto& [name, each] : named) all.named.emplace_back(name, each->value(frame));
  if (more_named) {
    const Value rest = more_named->value(frame);
    if (!rest.dict()) throw TemplateError("passes " + rest.type() + " as named arguments");
    for (const auto& [key, each] : rest.dict()->entries()) all.named.emplace_back(printed(key).bytes, each);
  }
  return all;
}

Made make_constant(std::size_t line, Value value) {
  return std::make_unique<Constant>(line, std::move(value));
}
Made make_name(std::size_t line, std::string name) { return std::make_unique<Name>(line, std::move(name)); }
Made make_list(std::size_t line, Expressions items, bool tuple) {
  return std::make_unique<ListOf>(line, std::move(items), tuple);
}
Made make_dict(std::size_t line, Expressions keys, Expressions values) {
  return std::make_unique<DictOf>(line, std::move(keys), std::move(values));
}
Made make_attribute(std::size_t line, Made object, std::string name) {
  return std::make_unique<Attribute>(line, std::move(object), std::move(name));
}
Made make_item(std::size_t line, Made object, Made key) {
  return std::make_unique<Item>(line, std::move(object), std::move(key));
}
Made make_slice(std::size_t line, Made object, Made begin, Made end, Made step) {
  return std::make_unique<Slice>(line, std::move(object), std::move(begin), std::move(end), std::move(step));
}
Made make_call(std::size_t line, Made function, CallArguments arguments) {
  return std::make_unique<Call>(line, std::move(function), std::move(arguments));
}
Made make_filter(std::size_t line, Made value, std::string name, CallArguments arguments) {
  return std::make_unique<Filtered>(line, std::move(value), std::move(name), std::move(arguments));
}
Made make_test(std::size_t line, Made value, std::string name, CallArguments arguments, bool negated) {
  return std::make_unique<Tested>(line, std::move(value), std::move(name), std::move(arguments), negated);
}
Made make_binary(std::size_t line, std::string sign, Made left, Made right) {
  return std::make_unique<Binary>(line, std::move(sign), std::move(left), std::move(right));
}
Made make_logic(std::size_t line, bool both, Made left, Made right) {
  return std::make_unique<Logic>(line, both, std::move(left), std::move(right));
}
Made make_not(std::size_t line, Made value) { return std::make_unique<Not>(line, std::move(value)); }
Made make_comparison(std::size_t line, Made first, std::vector<std::pair<std::string, Made>> rest) {
  return std::make_unique<Comparison>(line, std::move(first), std::move(rest));
}
Made make_choice(std::size_t line, Made condition, Made yes, Made no) {
  return std::make_unique<Choice>(line, std::move(condition), std::move(yes), std::move(no));
}

}  // namespace runner::jinja
