#include <ATen/ScalarOps.h>

#include <algorithm>
#include <limits>

#include "components/models/exported/archive.hpp"
#include "components/models/exported/code.hpp"
#include "components/torch/operator_mode.hpp"
#include "registry/base/wording.hpp"

namespace runner::exported {

namespace {

using c10::TypeKind;
using Slot = std::uint32_t;
constexpr Slot none = std::numeric_limits<Slot>::max();

enum class Kind { tensor, tensors, number };

c10::TypePtr without_optional(const c10::TypePtr& type) {
  return type->kind() == TypeKind::OptionalType ? type->castRaw<c10::OptionalType>()->getElementType() : type;
}

bool is_number_type(TypeKind kind) {
  return kind == TypeKind::IntType || kind == TypeKind::SymIntType || kind == TypeKind::FloatType ||
         kind == TypeKind::SymFloatType || kind == TypeKind::BoolType || kind == TypeKind::SymBoolType ||
         kind == TypeKind::NumberType;
}

std::optional<c10::Scalar> scalar_of(const Item& item) {
  if (const auto* whole = std::get_if<std::int64_t>(&item)) return *whole;
  if (const auto* real = std::get_if<double>(&item)) return *real;
  if (const auto* truth = std::get_if<bool>(&item)) return *truth;
  if (const auto* complex = std::get_if<c10::complex<double>>(&item)) return *complex;
  return std::nullopt;
}

FromList::Of list_of(const c10::TypePtr& type) {
  switch (without_optional(type)->kind()) {
    case TypeKind::IntType:
    case TypeKind::SymIntType: return FromList::Of::ints;
    case TypeKind::FloatType: return FromList::Of::floats;
    case TypeKind::BoolType: return FromList::Of::bools;
    case TypeKind::NumberType: return FromList::Of::scalars;
    case TypeKind::TensorType:
      return type->kind() == TypeKind::OptionalType ? FromList::Of::optional_tensors : FromList::Of::tensors;
    default: throw std::invalid_argument("a list");
  }
}

class Compiler {
 public:
  Compiler(std::shared_ptr<const Program> program, std::size_t output)
      : program_(*program), slot_of_(program_.values, none) {
    code_.program = std::move(program);
    for (const ProgramInput& input : program_.held) code_.held.push_back(given(input.value));
    for (const UserInput& input : program_.inputs) code_.inputs.push_back(given(input.value));
    code_.copied_held.resize(code_.held.size());
    code_.changed_held.resize(code_.held.size());
    code_.copied_inputs.resize(code_.inputs.size());
    add(program_.main());
    code_.outputs.push_back(slot_of_tensor(program_.outputs.at(output).value));
    for (const BufferChange& change : program_.changes) code_.changes.push_back(slot_of_tensor(change.value));
    code_.slots = kinds_.size();
    find_last_uses();
  }

  Code take() { return std::move(code_); }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Refusal("has a node that cannot run: " + why + ", at " + place_of(*node_));
  }

  Slot new_slot(Kind kind) {
    kinds_.push_back(kind);
    root_.push_back(static_cast<Slot>(kinds_.size() - 1));
    return root_.back();
  }

  Slot given(ValueId value) { return slot_of_.at(value) = new_slot(Kind::tensor); }

  Slot slot_of_tensor(ValueId value) const {
    const Slot slot = slot_of_.at(value);
    if (slot == none || kinds_[slot] != Kind::tensor)
      throw Refusal("is damaged: it returns what is no tensor");
    return slot;
  }

  Slot slot_of(Ref ref) const {
    const Slot slot = slot_of_.at(ref.value);
    if (slot == none) refuse("it uses a value that is not computed");
    return slot;
  }

  void add(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      node_ = &node;
      const std::string_view name = operator_name(node.target);
      if (only_checks(node)) continue;
      if (name == "higher_order.wrap_with_set_grad_enabled") {
        add_part(node, 0, Instruction::Does::begin_grad_mode);
      } else if (name == "higher_order.wrap_with_autocast") {
        add_part(node, 3, Instruction::Does::begin_autocast);
      } else if (const Arithmetic arithmetic = find_arithmetic(node.target)) {
        add_arithmetic(node, arithmetic);
      } else {
        add_call(node);
      }
    }
  }

  // A graph within the graph: its nodes take the place of the call. `last_setting`: the graph follows it.
  void add_part(const Node& node, std::size_t last_setting, Instruction::Does begin) {
    Instruction start{.does = begin, .node = &node};
    const auto& inputs = node.inputs;
    const auto* part =
        inputs.size() > last_setting + 1 ? std::get_if<SubGraph>(&inputs[last_setting + 1].value) : nullptr;
    if (!part) refuse("its graph is missing");
    for (std::size_t i = 0; i <= last_setting; ++i) start.arguments.push_back(setting(inputs[i]));
    const bool valid =
        begin == Instruction::Does::begin_grad_mode
            ? start.arguments[0].isBool()
            : (start.arguments[1].isInt() || start.arguments[1].isNone()) && start.arguments[2].isBool();
    if (!valid) refuse("its mode is not known");
    const Graph& graph = program_.graphs.at(part->graph);
    if (graph.inputs.size() != inputs.size() - last_setting - 2)
      refuse("it calls a graph with another number of inputs");
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const auto* item = std::get_if<Item>(&inputs[last_setting + 2 + i].value);
      const auto* ref = item ? std::get_if<Ref>(item) : nullptr;
      if (!ref) refuse("it calls a graph with a constant");
      slot_of_.at(graph.inputs[i]) = slot_of(*ref);
    }
    code_.instructions.push_back(std::move(start));
    add(graph);
    node_ = &node;
    code_.instructions.push_back({.does = Instruction::Does::end_mode, .node = &node});
    std::size_t next = 0;
    for (const Returned& returned : node.outputs)
      for (const auto& value : returned.values) {
        if (next >= graph.outputs.size()) refuse("its graph returns less than is used");
        const Item& output = graph.outputs[next++];
        if (!value) continue;
        const auto* ref = std::get_if<Ref>(&output);
        if (!ref) refuse("its graph returns a constant");
        slot_of_.at(*value) = slot_of(*ref);
      }
  }

  static c10::IValue setting(const Argument& argument) {
    const auto* item = std::get_if<Item>(&argument.value);
    if (!item) return {};
    if (const auto* truth = std::get_if<bool>(item)) return *truth;
    if (const auto* type = std::get_if<torch::Dtype>(item)) return static_cast<std::int64_t>(*type);
    return {};
  }

  void add_arithmetic(const Node& node, Arithmetic arithmetic) {
    Instruction instruction{.does = Instruction::Does::arithmetic, .arithmetic = arithmetic, .node = &node};
    const bool of_list = node.target == "_operator.getitem";
    const auto add_item = [&](const Item& item) {
      const auto position = static_cast<std::uint32_t>(instruction.arguments.size());
      instruction.arguments.emplace_back();
      if (const auto* ref = std::get_if<Ref>(&item)) {
        const Slot slot = slot_of(*ref);
        if ((kinds_[slot] == Kind::tensor) || (kinds_[slot] == Kind::tensors && (!of_list || position > 0)))
          refuse("it calculates with what is no number");
        instruction.slots.push_back({position, slot});
      } else if (const auto number = scalar_of(item); number && !number->isComplex()) {
        instruction.arguments.back() = c10::IValue(*number);
      } else {
        refuse("it calculates with what is no number");
      }
    };
    for (const Argument& input : node.inputs) {
      if (const auto* item = std::get_if<Item>(&input.value))
        add_item(*item);
      else if (const auto* items = std::get_if<Items>(&input.value))
        std::ranges::for_each(*items, add_item);
    }
    const bool list_first = of_list && !instruction.slots.empty() && instruction.slots[0].argument == 0 &&
                            kinds_[instruction.slots[0].slot] == Kind::tensors;
    if (of_list != list_first) refuse("it takes an item of what is no list");
    if (node.outputs.size() != 1 || node.outputs[0].values.size() != 1)
      refuse("it returns another number of values");
    keep(instruction, 0, node.outputs[0], of_list ? Kind::tensor : Kind::number);
    if (of_list) root_[slot_of_[*node.outputs[0].values[0]]] = root_[instruction.slots[0].slot];
    code_.instructions.push_back(std::move(instruction));
  }

  void keep(Instruction& instruction, std::uint32_t result, const Returned& returned, Kind kind) {
    const bool fits = returned.as == Returned::As::tensor    ? kind == Kind::tensor
                      : returned.as == Returned::As::tensors ? kind == Kind::tensors
                                                             : kind == Kind::number;
    if (!fits) refuse("it returns something else than the file says");
    ToSlots store{result, returned.as == Returned::As::tensors, {}};
    for (const auto& value : returned.values) {
      store.slots.emplace_back(std::nullopt);
      if (!value) continue;
      slot_of_.at(*value) = new_slot(store.list ? Kind::tensor : kind);
      store.slots.back() = slot_of_[*value];
    }
    instruction.results.push_back(std::move(store));
  }

  // The argument of the node for each argument of the operator, by name or, if it has none, by position.
  std::vector<const Argument*> by_position(const Node& node, const c10::FunctionSchema& schema) const {
    std::vector<const Argument*> found(schema.arguments().size());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Argument& input = node.inputs[i];
      const auto named = std::ranges::find(schema.arguments(), input.name, &c10::Argument::name);
      const std::size_t at = named != schema.arguments().end()
                                 ? static_cast<std::size_t>(named - schema.arguments().begin())
                                 : (input.name.empty() ? i : found.size());
      if (at >= found.size() || found[at]) refuse("it has no argument " + in_quotes(input.name));
      found[at] = &input;
    }
    return found;
  }

  void add_call(const Node& node) {
    Instruction instruction{.op = find_operator(node), .node = &node};
    const c10::FunctionSchema& schema = instruction.op->schema();
    const auto given = by_position(node, schema);
    const bool makes_tensors = std::ranges::none_of(schema.arguments(), [](const c10::Argument& argument) {
      return without_optional(argument.type())->kind() == TypeKind::TensorType;
    });
    for (std::size_t i = 0; i < given.size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      instruction.arguments.emplace_back();
      if (!given[i]) {
        if (!argument.default_value()) refuse("its argument " + in_quotes(argument.name()) + " is missing");
        instruction.arguments.back() = *argument.default_value();
      } else {
        set_argument(instruction, static_cast<std::uint32_t>(i), *given[i], argument);
      }
      const bool device = without_optional(argument.type())->kind() == TypeKind::DeviceObjType;
      if (device && (makes_tensors || !instruction.arguments.back().isNone()))
        instruction.devices.push_back(static_cast<std::uint32_t>(i));
    }
    const auto training =
        schema.name() == "aten::batch_norm" ? schema.argumentIndexWithName("training") : std::nullopt;
    if (training)
      instruction.needs_examples = instruction.arguments[static_cast<std::size_t>(*training)].toBool();
    keep_results(instruction, node, schema);
    follow_memory(instruction, schema);
    if (operator_name(node.target) == "aten.sym_size.int" && instruction.slots.size() == 1 &&
        instruction.slots[0].argument == 0 && instruction.arguments[1].isInt())
      instruction.does = Instruction::Does::size;
    code_.instructions.push_back(std::move(instruction));
  }

  void keep_results(Instruction& instruction, const Node& node, const c10::FunctionSchema& schema) {
    if (node.outputs.size() > schema.returns().size()) refuse("it returns more than the operator does");
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const TypeKind type = without_optional(schema.returns()[i].type())->kind();
      const Kind kind = type == TypeKind::TensorType ? Kind::tensor
                        : type == TypeKind::ListType ? Kind::tensors
                                                     : Kind::number;
      if (kind == Kind::number && !is_number_type(type)) refuse("it returns what is no tensor");
      keep(instruction, static_cast<std::uint32_t>(i), node.outputs[i], kind);
    }
  }

  void set_argument(Instruction& instruction, std::uint32_t at, const Argument& argument,
                    const c10::Argument& formal) {
    const c10::TypePtr type = without_optional(formal.type()), real = without_optional(formal.real_type());
    const auto wrong = [&] { refuse("its argument " + in_quotes(formal.name()) + " is of another type"); };
    if (std::holds_alternative<SubGraph>(argument.value)) wrong();
    if (type->kind() == TypeKind::ListType) return set_list(instruction, at, argument, formal, wrong);
    const auto* item = std::get_if<Item>(&argument.value);
    if (!item) return wrong();
    if (std::holds_alternative<std::monostate>(*item)) {
      if (formal.type()->kind() != TypeKind::OptionalType) wrong();
      return;
    }
    if (const auto* ref = std::get_if<Ref>(item)) {
      const Slot slot = slot_of(*ref);
      const bool tensor = type->kind() == TypeKind::TensorType;
      if (kinds_[slot] == Kind::tensors || (kinds_[slot] == Kind::tensor) > tensor ||
          (!tensor && !is_number_type(type->kind())) || real->kind() == TypeKind::ScalarTypeType ||
          real->kind() == TypeKind::LayoutType || real->kind() == TypeKind::MemoryFormatType)
        wrong();
      return instruction.slots.push_back({at, slot, false, tensor && kinds_[slot] == Kind::number});
    }
    instruction.arguments[at] = constant(*item, *type, *real, wrong);
  }

  template <class Wrong>
  c10::IValue constant(const Item& item, const c10::Type& type, const c10::Type& real,
                       const Wrong& wrong) const {
    const auto number = scalar_of(item);
    const auto enumerated = [&]<class T>(std::type_identity<T>) -> c10::IValue {
      const auto* value = std::get_if<T>(&item);
      if (!value) wrong();
      return static_cast<std::int64_t>(*value);
    };
    if (real.kind() == TypeKind::ScalarTypeType) return enumerated(std::type_identity<torch::Dtype>());
    if (real.kind() == TypeKind::LayoutType) return enumerated(std::type_identity<torch::Layout>());
    if (real.kind() == TypeKind::MemoryFormatType)
      return enumerated(std::type_identity<torch::MemoryFormat>());
    switch (type.kind()) {
      case TypeKind::TensorType:
        if (number) return at::native::wrapped_scalar_tensor(*number);
        break;
      case TypeKind::NumberType:
        if (number) return c10::IValue(*number);
        break;
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        if (number && (number->isIntegral(/*includeBool=*/true))) return number->toLong();
        break;
      case TypeKind::FloatType:
      case TypeKind::SymFloatType:
        if (number && !number->isComplex()) return number->toDouble();
        break;
      case TypeKind::BoolType:
      case TypeKind::SymBoolType:
        if (number && number->isBoolean()) return number->toBool();
        break;
      case TypeKind::StringType:
        if (const auto* text = std::get_if<std::string>(&item)) return *text;
        break;
      case TypeKind::DeviceObjType:
        if (const auto* device = std::get_if<torch::Device>(&item)) return *device;
        break;
      default: break;
    }
    wrong();
    return {};
  }

  template <class Wrong>
  void set_list(Instruction& instruction, std::uint32_t at, const Argument& argument,
                const c10::Argument& formal, const Wrong& wrong) {
    const auto* item = std::get_if<Item>(&argument.value);
    const auto* items = std::get_if<Items>(&argument.value);
    if (item && std::holds_alternative<std::monostate>(*item)) {
      if (formal.type()->kind() != TypeKind::OptionalType) wrong();
      return;
    }
    const auto* ref = item ? std::get_if<Ref>(item) : nullptr;
    if (ref && kinds_[slot_of(*ref)] == Kind::tensors)
      return instruction.slots.push_back({at, slot_of(*ref)});
    // One number stands for a list of them: a kernel of 3 is one of 3 x 3.
    const Items repeated =
        item ? Items(static_cast<std::size_t>(std::clamp(formal.N().value_or(1), 1, 8)), *item) : Items();
    if (item) items = &repeated;
    const c10::TypePtr element = without_optional(formal.type())->castRaw<c10::ListType>()->getElementType();
    FromList list{.of = FromList::Of::ints, .argument = at, .elements = {}};
    try {
      list.of = list_of(element);
    } catch (const std::invalid_argument&) {
      wrong();
    }
    const c10::TypePtr plain = without_optional(element);
    const bool tensors = plain->kind() == TypeKind::TensorType;
    bool known = !tensors;
    for (const Item& each : *items) {
      if (const auto* one = std::get_if<Ref>(&each)) {
        const Slot slot = slot_of(*one);
        if ((kinds_[slot] == Kind::tensor) != tensors || kinds_[slot] == Kind::tensors) wrong();
        list.elements.push_back({slot, {}});
        known = false;
      } else if (std::holds_alternative<std::monostate>(each)) {
        if (element->kind() != TypeKind::OptionalType) wrong();
        list.elements.push_back({std::nullopt, {}});
      } else {
        list.elements.push_back({std::nullopt, constant(each, *plain, *plain, wrong)});
      }
    }
    if (known) {
      instruction.arguments[at] = built(list, {});
    } else {
      instruction.lists.push_back(std::move(list));
    }
  }

  static std::vector<Slot> slots_of(const Instruction& instruction, std::uint32_t argument) {
    std::vector<Slot> slots;
    for (const FromSlot& from : instruction.slots)
      if (from.argument == argument && !from.to_tensor) slots.push_back(from.slot);
    for (const FromList& list : instruction.lists)
      for (const Element& element : list.elements)
        if (list.argument == argument && element.slot) slots.push_back(*element.slot);
    return slots;
  }

  // Which value's memory a result shares, and which values the operator writes into.
  void follow_memory(const Instruction& instruction, const c10::FunctionSchema& schema) {
    std::optional<Slot> shared;
    for (std::uint32_t at = 0; at < schema.arguments().size(); ++at) {
      const c10::AliasInfo* alias = schema.arguments()[at].alias_info();
      const std::vector<Slot> slots = slots_of(instruction, at);
      if (alias && !slots.empty() && !shared) shared = root_[slots[0]];
      if (!alias || !alias->isWrite() || schema.name() == "aten::detach_") continue;
      if (slots.empty() && !instruction.arguments[at].isNone()) refuse("it writes into a constant");
      for (const Slot slot : slots) written(root_[slot]);
    }
    if (!shared) return;
    for (const ToSlots& store : instruction.results)
      if (schema.returns()[store.result].alias_info() || store.list)
        for (const auto& slot : store.slots)
          if (slot) root_[*slot] = *shared;
  }

  void written(Slot root) {
    for (std::size_t i = 0; i < code_.inputs.size(); ++i)
      if (code_.inputs[i] == root) code_.copied_inputs[i] = true;
    for (std::size_t i = 0; i < code_.held.size(); ++i) {
      if (code_.held[i] != root) continue;
      const ProgramInput& held = program_.held[i];
      if (held.kind == ProgramInput::Kind::parameter)
        refuse("it changes the parameter " + in_quotes(held.name) + " while the model runs");
      (held.kind == ProgramInput::Kind::buffer ? code_.changed_held : code_.copied_held)[i] = true;
    }
  }

  void find_last_uses() {
    std::vector<bool> later(code_.slots, false);
    for (const auto& kept : {code_.outputs, code_.changes})
      for (const Slot slot : kept) later[slot] = true;
    for (auto at = code_.instructions.rbegin(); at != code_.instructions.rend(); ++at) {
      for (ToSlots& store : at->results)
        for (auto& slot : store.slots)
          if (slot && !later[*slot]) slot = std::nullopt;
      for (FromList& list : at->lists)
        for (const Element& element : list.elements)
          if (element.slot && !later[*element.slot]) {
            later[*element.slot] = true;
            at->release.push_back(*element.slot);
          }
      // The arguments are taken in this order; only the last of several that use the slot may move its value.
      for (auto from = at->slots.rbegin(); from != at->slots.rend(); ++from)
        if (!later[from->slot]) {
          from->last = true;
          later[from->slot] = true;
        }
    }
  }

  const Program& program_;
  Code code_;
  std::vector<Slot> slot_of_;  // of each value of the program
  std::vector<Kind> kinds_;    // of each slot
  std::vector<Slot> root_;     // the slot whose memory this one shares
  const Node* node_ = nullptr;
};

template <class T, class Convert>
c10::IValue list_value(const FromList& list, std::span<const c10::IValue> frame, const Convert& convert) {
  c10::List<T> values;
  values.reserve(list.elements.size());
  for (const Element& element : list.elements)
    values.push_back(convert(element.slot ? frame[*element.slot] : element.constant));
  return values;
}

}  // namespace

c10::IValue built(const FromList& list, std::span<const c10::IValue> frame) {
  switch (list.of) {
    case FromList::Of::ints:
      return list_value<std::int64_t>(list, frame, [](const c10::IValue& value) { return value.toInt(); });
    case FromList::Of::floats:
      return list_value<double>(list, frame, [](const c10::IValue& value) {
        return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
      });
    case FromList::Of::bools:
      return list_value<bool>(list, frame, [](const c10::IValue& value) { return value.toBool(); });
    case FromList::Of::tensors:
      return list_value<torch::Tensor>(list, frame,
                                       [](const c10::IValue& value) { return value.toTensor(); });
    case FromList::Of::scalars:
      return list_value<c10::Scalar>(list, frame, [](const c10::IValue& value) { return value.toScalar(); });
    case FromList::Of::optional_tensors: break;
  }
  return list_value<std::optional<torch::Tensor>>(
      list, frame, [](const c10::IValue& value) { return value.toOptional<torch::Tensor>(); });
}

Code compile(std::shared_ptr<const Program> program, std::size_t output) {
  const OperatorModePause real;  // the numbers in the program are needed, even if the model is on meta
  return Compiler(std::move(program), output).take();
}

}  // namespace runner::exported
