#include <algorithm>

#include "components/jinja/nodes.hpp"
#include "registry/base/wording.hpp"

namespace runner::jinja {

namespace {

void print(Frame& frame, const Value& value) {
  frame.rendering.budget.spend(value.extent().weight);
  frame.out.append(printed(value));
}

class PlainText final : public Statement {
 public:
  PlainText(std::size_t line, Text text) : Statement(line), text_(std::move(text)) {}
  Flow execute(Frame& frame) const override {
    frame.rendering.budget.spend(text_.size());
    frame.out.append(text_);
    return Flow::on;
  }

 private:
  Text text_;
};

class Print final : public Statement {
 public:
  Print(std::size_t line, Made value) : Statement(line), value_(std::move(value)) {}
  Flow execute(Frame& frame) const override {
    print(frame, value_->value(frame));
    return Flow::on;
  }

 private:
  Made value_;
};

class If final : public Statement {
 public:
  If(std::size_t line, std::vector<Branch> branches) : Statement(line), branches_(std::move(branches)) {}
  Flow execute(Frame& frame) const override {
    for (const Branch& branch : branches_)
      if (!branch.condition || branch.condition->value(frame).truth()) return run_block(branch.body, frame);
    return Flow::on;
  }

 private:
  std::vector<Branch> branches_;
};

Value number(std::size_t value) { return static_cast<std::int64_t>(value); }

// The variable `loop` in one round.
Function loop_state(const Values& values, std::size_t i, std::size_t depth) {
  Function loop{.name = "loop"};
  const std::size_t count = values.size();
  loop.attributes = {{"index", number(i + 1)},
                     {"index0", number(i)},
                     {"revindex", number(count - i)},
                     {"revindex0", number(count - i - 1)},
                     {"first", i == 0},
                     {"last", i + 1 == count},
                     {"length", number(count)},
                     {"depth", number(depth)},
                     {"depth0", number(depth - 1)},
                     {"previtem", i > 0 ? values[i - 1] : Value(Undefined{"previtem"})},
                     {"nextitem", i + 1 < count ? values[i + 1] : Value(Undefined{"nextitem"})}};
  for (const auto& [name, value] : loop.attributes) loop.extent.add(value);
  loop.attributes["cycle"] = Function{.name = "cycle", .call = [i](const Arguments& arguments) {
                                        if (arguments.positional.empty())
                                          throw TemplateError("calls loop.cycle() without values");
                                        return arguments.positional[i % arguments.positional.size()];
                                      }};
  return loop;
}

class For final : public Statement {
 public:
  For(std::size_t line, Loop loop) : Statement(line), loop_(std::move(loop)) {}
  Flow execute(Frame& frame) const override {
    go_through(frame, loop_.over->value(frame), 1);
    return Flow::on;
  }

 private:
  void go_through(Frame& frame, const Value& over, std::size_t depth) const {
    const Budget::Depth nested(frame.rendering.budget);
    if (over.text()) frame.rendering.budget.spend(over.text()->size());
    const Values values = chosen(frame, iterated(over));
    if (values.empty()) {
      Frame inner = frame.inside(frame.out);
      run_block(loop_.otherwise, inner);
      return;
    }
    auto changed = std::make_shared<std::optional<Value>>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      constexpr std::size_t cost_of_round = 20;  // a scope, and all that `loop` has
      frame.rendering.budget.spend(cost_of_round);
      Frame inner = frame.inside(frame.out);
      Function state = loop_state(values, i, depth);
      state.attributes["changed"] =
          Function{.name = "changed", .call = [changed](const Arguments& arguments) {
                     const Value now(arguments.positional, ListKind::tuple);
                     const bool differs = !*changed || !equal(**changed, now);
                     *changed = now;
                     return Value(differs);
                   }};
      if (loop_.recursive) state.call = again(frame, depth);
      inner.scope->values["loop"] = std::move(state);
      loop_.target.assign(inner, values[i]);
      if (run_block(loop_.body, inner) == Flow::break_loop) break;
    }
  }

  // loop(..) inside a recursive loop: the same loop over other values, as text. It is called while the frame
  // is there.
  std::function<Value(const Arguments&)> again(Frame& frame, std::size_t depth) const {
    return [this, &frame, depth](const Arguments& arguments) {
      arguments.at_most(1);
      if (arguments.positional.empty()) throw TemplateError("calls loop() without values");
      Text text;
      Frame inner = frame.inside(text);
      go_through(inner, arguments.positional.front(), depth + 1);
      return Value(std::move(text));
    };
  }

  Values chosen(Frame& frame, Values values) const {
    if (!loop_.condition) return values;
    std::erase_if(values, [&](const Value& value) {
      Frame inner = frame.inside(frame.out);
      loop_.target.assign(inner, value);
      return !loop_.condition->value(inner).truth();
    });
    return values;
  }

  Loop loop_;
};

class Set final : public Statement {
 public:
  Set(std::size_t line, Target target, Made value)
      : Statement(line), target_(std::move(target)), value_(std::move(value)) {}
  Flow execute(Frame& frame) const override {
    target_.assign(frame, value_->value(frame));
    return Flow::on;
  }

 private:
  Target target_;
  Made value_;
};

class Captured final : public Statement {
 public:
  Captured(std::size_t line, Target target, Block body, Made filter)
      : Statement(line), target_(std::move(target)), body_(std::move(body)), filter_(std::move(filter)) {}
  Flow execute(Frame& frame) const override {
    Value text = rendered(body_, frame);
    if (filter_) {
      Frame inner = frame.inside(frame.out);
      inner.scope->values["body"] = text;
      text = filter_->value(inner);
    }
    if (target_.names.empty()) {
      print(frame, text);
    } else {
      target_.assign(frame, text);
    }
    return Flow::on;
  }

 private:
  Target target_;
  Block body_;
  Made filter_;
};

class With final : public Statement {
 public:
  With(std::size_t line, std::vector<std::pair<Target, Made>> values, Block body)
      : Statement(line), values_(std::move(values)), body_(std::move(body)) {}
  Flow execute(Frame& frame) const override {
    Frame inner = frame.inside(frame.out);
    for (const auto& [target, made] : values_) target.assign(inner, made->value(frame));
    return run_block(body_, inner);
  }

 private:
  std::vector<std::pair<Target, Made>> values_;
  Block body_;
};

// A macro, or the body of a call block, as a function. The syntax outlives the rendering.
Value as_function(const std::string& name, const Parameters& parameters, const Block& body,
                  const Frame& frame) {
  frame.rendering.scopes.push_back(frame.scope);
  return Function{.name = name,
                  .call = [&parameters, &body, &rendering = frame.rendering, scope = frame.scope,
                           name](const Arguments& arguments) {
                    const Budget::Depth depth(rendering.budget);
                    Text text;
                    Frame inner{rendering, std::make_shared<Scope>(Scope{.outer = scope}), text};
                    auto& values = inner.scope->values;
                    const std::size_t count = parameters.names.size(),
                                      without = count - parameters.defaults.size();
                    for (std::size_t i = 0; i < count; ++i) {
                      const std::string& own = parameters.names[i];
                      if (const Value* given = arguments.find(i, own)) {
                        values[own] = *given;
                      } else {
                        values[own] = i < without ? Value(Undefined{own})
                                                  : parameters.defaults[i - without]->value(inner);
                      }
                    }
                    Values more;
                    for (std::size_t i = count; i < arguments.positional.size(); ++i)
                      more.push_back(arguments.positional[i]);
                    Dict named;
                    for (const auto& [key, value] : arguments.named) {
                      if (key == "caller")
                        values[key] = value;
                      else if (std::ranges::find(parameters.names, key) == parameters.names.end())
                        named.set(Value(Text(key)), value);
                    }
                    values["varargs"] = Value(std::move(more), ListKind::tuple);
                    values["kwargs"] = std::move(named);
                    run_block(body, inner);
                    return Value(std::move(text));
                  }};
}

class Macro final : public Statement {
 public:
  Macro(std::size_t line, std::string name, Parameters parameters, Block body)
      : Statement(line), name_(std::move(name)), parameters_(std::move(parameters)), body_(std::move(body)) {}
  Flow execute(Frame& frame) const override {
    frame.scope->values[name_] = as_function(name_, parameters_, body_, frame);
    return Flow::on;
  }

 private:
  std::string name_;
  Parameters parameters_;
  Block body_;
};

class CallBlock final : public Statement {
 public:
  CallBlock(std::size_t line, Made function, CallArguments arguments, Parameters parameters, Block body)
      : Statement(line),
        function_(std::move(function)),
        arguments_(std::move(arguments)),
        parameters_(std::move(parameters)),
        body_(std::move(body)) {}
  Flow execute(Frame& frame) const override {
    const Value function = function_->value(frame);
    if (!function.function() || !function.function()->call)
      throw TemplateError("calls " + function.type() + " as a macro");
    Arguments arguments = arguments_.values(frame);
    arguments.named.emplace_back("caller", as_function("caller", parameters_, body_, frame));
    print(frame, function.function()->call(arguments));
    return Flow::on;
  }

 private:
  Made function_;
  CallArguments arguments_;
  Parameters parameters_;
  Block body_;
};

class Generation final : public Statement {
 public:
  Generation(std::size_t line, Block body) : Statement(line), body_(std::move(body)) {}
  Flow execute(Frame& frame) const override {
    Text text = rendered(body_, frame);
    for (Origin& origin : text.origins) origin |= generated;
    frame.rendering.budget.spend(text.size());
    frame.out.append(text);
    return Flow::on;
  }

 private:
  Block body_;
};

class Jump final : public Statement {
 public:
  Jump(std::size_t line, Flow flow) : Statement(line), flow_(flow) {}
  Flow execute(Frame&) const override { return flow_; }

 private:
  Flow flow_;
};

}  // namespace

Rendering::~Rendering() {
  for (const auto& scope : scopes) scope->values.clear();
  for (const auto& space : spaces) space->values.clear();
}

Flow Statement::run(Frame& frame) const {
  try {
    frame.rendering.budget.spend(1);
    const Budget::Depth depth(frame.rendering.budget);
    return execute(frame);
  } catch (TemplateError& error) {
    if (error.line == 0) error.line = line_;
    throw;
  }
}

Flow run_block(const Block& block, Frame& frame) {
  for (const auto& statement : block)
    if (const Flow flow = statement->run(frame); flow != Flow::on) return flow;
  return Flow::on;
}

Text rendered(const Block& block, const Frame& frame) {
  Text text;
  Frame inner = frame.inside(text);
  run_block(block, inner);
  return text;
}

void Target::assign(Frame& frame, const Value& value) const {
  if (!attribute.empty()) {
    const Value* object = frame.scope->find(names.front());
    if (!object || !object->space())
      throw TemplateError("sets " + in_quotes(names.front() + "." + attribute) + ", but " +
                          in_quotes(names.front()) + " is not a namespace");
    object->space()->values[attribute] = value;
  } else if (!unpacks) {
    frame.scope->values[names.front()] = value;
  } else {
    const Values values = iterated(value);
    if (values.size() != names.size())
      throw TemplateError("divides " + counted(values.size(), "value") + " among " +
                          counted(names.size(), "name"));
    for (std::size_t i = 0; i < names.size(); ++i) frame.scope->values[names[i]] = values[i];
  }
}

MadeStatement make_text(std::size_t line, Text text) {
  return std::make_unique<PlainText>(line, std::move(text));
}
MadeStatement make_print(std::size_t line, Made value) {
  return std::make_unique<Print>(line, std::move(value));
}
MadeStatement make_if(std::size_t line, std::vector<Branch> branches) {
  return std::make_unique<If>(line, std::move(branches));
}
MadeStatement make_for(std::size_t line, Loop loop) { return std::make_unique<For>(line, std::move(loop)); }
MadeStatement make_set(std::size_t line, Target target, Made value) {
  return std::make_unique<Set>(line, std::move(target), std::move(value));
}
MadeStatement make_captured(std::size_t line, Target target, Block body, Made filter) {
  return std::make_unique<Captured>(line, std::move(target), std::move(body), std::move(filter));
}
MadeStatement make_with(std::size_t line, std::vector<std::pair<Target, Made>> values, Block body) {
  return std::make_unique<With>(line, std::move(values), std::move(body));
}
MadeStatement make_macro(std::size_t line, std::string name, Parameters parameters, Block body) {
  return std::make_unique<Macro>(line, std::move(name), std::move(parameters), std::move(body));
}
MadeStatement make_call_block(std::size_t line, Made function, CallArguments arguments, Parameters parameters,
                              Block body) {
  return std::make_unique<CallBlock>(line, std::move(function), std::move(arguments), std::move(parameters),
                                     std::move(body));
}
MadeStatement make_generation(std::size_t line, Block body) {
  return std::make_unique<Generation>(line, std::move(body));
}
MadeStatement make_flow(std::size_t line, Flow flow) { return std::make_unique<Jump>(line, flow); }

}  // namespace runner::jinja
