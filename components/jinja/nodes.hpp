#pragma once

#include <memory>

#include "components/jinja/value.hpp"

namespace runner::jinja {

// The names that a part of the template has set, and those around it.
struct Scope {
  const Value* find(const std::string& name) const;
  std::unordered_map<std::string, Value> values = {};
  std::shared_ptr<Scope> outer = {};
};

// One rendering. Macros hold their scope and scopes hold macros, so both are emptied at its end.
struct Rendering {
  ~Rendering();
  Budget budget = {};
  std::vector<std::shared_ptr<Scope>> scopes = {};
  std::vector<std::shared_ptr<Namespace>> spaces = {};
};

struct Frame {
  Rendering& rendering;
  std::shared_ptr<Scope> scope;
  Text& out;

  Frame inside(Text& into) const { return {rendering, std::make_shared<Scope>(Scope{.outer = scope}), into}; }
};

class Expression {
 public:
  explicit Expression(std::size_t line) : line_(line) {}
  virtual ~Expression() = default;
  Value value(Frame& frame) const;  // an error gets the line
  virtual std::optional<Value> constant() const { return std::nullopt; }

 protected:
  virtual Value evaluate(Frame& frame) const = 0;

 private:
  std::size_t line_;
};
using Expressions = std::vector<std::unique_ptr<Expression>>;

enum class Flow { on, break_loop, next_round };

class Statement {
 public:
  explicit Statement(std::size_t line) : line_(line) {}
  virtual ~Statement() = default;
  Flow run(Frame& frame) const;

 protected:
  virtual Flow execute(Frame& frame) const = 0;

 private:
  std::size_t line_;
};

using Block = std::vector<std::unique_ptr<Statement>>;
Flow run_block(const Block& block, Frame& frame);
Text rendered(const Block& block, const Frame& frame);  // in a scope of its own

// What a macro or a call block takes.
struct Parameters {
  std::vector<std::string> names = {};
  Expressions defaults = {};  // of the last ones
};

// What stands left of "=": names, or the attribute of a namespace.
struct Target {
  std::vector<std::string> names = {};
  std::string attribute = {};
  bool unpacks = false;
  void assign(Frame& frame, const Value& value) const;
};

// The parser of expressions makes these.
struct CallArguments {
  Expressions positional = {};
  std::vector<std::pair<std::string, std::unique_ptr<Expression>>> named = {};
  std::unique_ptr<Expression> more = {}, more_named = {};  // *a, **b
  Arguments values(Frame& frame) const;
};

using Made = std::unique_ptr<Expression>;
Made make_constant(std::size_t line, Value value);
Made make_name(std::size_t line, std::string name);
Made make_list(std::size_t line, Expressions items, bool tuple);
Made make_dict(std::size_t line, Expressions keys, Expressions values);
Made make_attribute(std::size_t line, Made object, std::string name);
Made make_item(std::size_t line, Made object, Made key);
Made make_slice(std::size_t line, Made object, Made begin, Made end, Made step);
Made make_call(std::size_t line, Made function, CallArguments arguments);
Made make_filter(std::size_t line, Made value, std::string name, CallArguments arguments);
Made make_test(std::size_t line, Made value, std::string name, CallArguments arguments, bool negated);
Made make_binary(std::size_t line, std::string sign, Made left, Made right);
Made make_logic(std::size_t line, bool both, Made left, Made right);
Made make_not(std::size_t line, Made value);
Made make_comparison(std::size_t line, Made first, std::vector<std::pair<std::string, Made>> rest);
Made make_choice(std::size_t line, Made condition, Made yes, Made no);

using MadeStatement = std::unique_ptr<Statement>;
struct Branch {
  Made condition = {};  // none: else
  Block body = {};
};
MadeStatement make_text(std::size_t line, Text text);
MadeStatement make_print(std::size_t line, Made value);
MadeStatement make_if(std::size_t line, std::vector<Branch> branches);
struct Loop {
  Target target = {};
  Made over = {}, condition = {};
  Block body = {}, otherwise = {};
  bool recursive = false;
};
MadeStatement make_for(std::size_t line, Loop loop);
MadeStatement make_set(std::size_t line, Target target, Made value);
// {% set x %}..{% endset %}, {% filter f %}..{% endfilter %}: `filter` is applied to the name "body".
MadeStatement make_captured(std::size_t line, Target target, Block body, Made filter);
MadeStatement make_with(std::size_t line, std::vector<std::pair<Target, Made>> values, Block body);
MadeStatement make_macro(std::size_t line, std::string name, Parameters parameters, Block body);
MadeStatement make_call_block(std::size_t line, Made function, CallArguments arguments, Parameters parameters,
                              Block body);
MadeStatement make_generation(std::size_t line, Block body);
MadeStatement make_flow(std::size_t line, Flow flow);

}  // namespace runner::jinja
