#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "components/models/exported/operators.hpp"
#include "components/models/exported/program.hpp"

namespace runner::exported {

// A program, ready to run: every value has a slot, every argument that is known lies on its place in a stack.
// While it runs there are no names, no look-ups, and each tensor is released after its last use.

struct Element {  // of a list that is put together while the program runs
  std::optional<std::uint32_t> slot;
  c10::IValue constant;
};

struct FromSlot {
  std::uint32_t argument, slot;
  bool last = false;       // nothing after it uses the slot
  bool to_tensor = false;  // a number where the operator wants a tensor
};

struct FromList {
  enum class Of { ints, floats, bools, tensors, optional_tensors, scalars } of;
  std::uint32_t argument;
  std::vector<Element> elements;
};

struct ToSlots {
  std::uint32_t result;
  bool list;
  std::vector<std::optional<std::uint32_t>> slots;
};

struct Instruction {
  enum class Does { call, size, arithmetic, begin_grad_mode, begin_autocast, end_mode };

  Does does = Does::call;
  std::optional<c10::OperatorHandle> op = {};
  Arithmetic arithmetic = nullptr;
  std::vector<c10::IValue> arguments = {};  // what is known; the rest comes from
  std::vector<FromSlot> slots = {};         // .. the slots,
  std::vector<FromList> lists = {};         // .. several of them,
  std::vector<std::uint32_t> devices = {};  // .. and the device of the input
  std::vector<ToSlots> results = {};
  std::vector<std::uint32_t> release = {};  // slots that nothing uses any more
  bool needs_examples = false;              // batch norm in training: one value has no deviation
  const Node* node = nullptr;               // for messages
};

struct Code {
  std::shared_ptr<const Program> program;  // which the instructions point into
  std::vector<Instruction> instructions;
  std::size_t slots = 0;
  std::vector<std::uint32_t> held, inputs, outputs, changes;  // slots, in the order of the program's lists
  std::vector<bool> copied_inputs, copied_held;               // the program writes into them
  std::vector<bool> changed_held;                             // buffers that the program writes into
};

// A list of what is known and what lies in the slots.
c10::IValue built(const FromList& list, std::span<const c10::IValue> frame);

// Throws Refusal. `output`: the one of the program's outputs that is needed.
Code compile(std::shared_ptr<const Program> program, std::size_t output);

// Runs the code on a frame that holds the values of `held` and `inputs`, and returns the output. Throws
// std::runtime_error that names the node, its module and its line, if an operator fails.
torch::Tensor run(const Code& code, std::vector<c10::IValue>& frame, torch::Device device);

}  // namespace runner::exported
