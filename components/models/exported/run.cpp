#include <ATen/ScalarOps.h>
#include <ATen/autocast_mode.h>

#include "components/models/exported/code.hpp"
#include "components/torch/shape_text.hpp"
#include "components/torch/torch_error.hpp"

namespace runner::exported {

namespace {

// `with torch.autocast(..)` inside of the model.
class AutocastMode {
 public:
  AutocastMode(c10::DeviceType device, bool enabled, std::optional<torch::Dtype> type)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        type_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device, enabled);
    if (type) at::autocast::set_autocast_dtype(device, *type);
  }
  ~AutocastMode() {
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_dtype(device_, type_);
  }
  AutocastMode(const AutocastMode&) = delete;
  AutocastMode& operator=(const AutocastMode&) = delete;

 private:
  c10::DeviceType device_;
  bool was_enabled_;
  torch::Dtype type_;
};

// The modes that parts of the program run under; the innermost ends first, also after an error.
class Modes {
 public:
  Modes() = default;
  ~Modes() {
    while (!active_.empty()) end();
  }
  Modes(const Modes&) = delete;
  Modes& operator=(const Modes&) = delete;

  void begin_grad(bool enabled) {
    active_.push_back({std::make_unique<torch::AutoGradMode>(enabled), nullptr});
  }
  void begin_autocast(const std::vector<c10::IValue>& settings, c10::DeviceType device) {
    std::optional<torch::Dtype> type;
    if (settings[1].isInt()) type = static_cast<torch::Dtype>(settings[1].toInt());
    active_.push_back({nullptr, std::make_unique<AutocastMode>(device, settings[2].toBool(), type)});
  }
  void end() { active_.pop_back(); }

 private:
  struct Mode {
    std::unique_ptr<torch::AutoGradMode> grad;
    std::unique_ptr<AutocastMode> autocast;
  };
  std::vector<Mode> active_;
};

[[noreturn]] void fail(const Node& node, const std::string& why) {
  throw std::runtime_error("The exported program fails at " + place_of(node) + ": " + why);
}

class Machine {
 public:
  Machine(std::vector<c10::IValue>& frame, torch::Device device) : frame_(frame), device_(device) {}

  void execute(const Instruction& instruction) {
    using Does = Instruction::Does;
    switch (instruction.does) {
      case Does::call:
        load(instruction);
        if (instruction.needs_examples) require_examples(stack_[0].toTensor());
        instruction.op->callBoxed(&stack_);
        break;
      case Does::size: {
        const FromSlot& from = instruction.slots[0];
        stack_.assign(1, frame_[from.slot].toTensor().size(instruction.arguments[1].toInt()));
        if (from.last) frame_[from.slot] = {};
        break;
      }
      case Does::arithmetic:
        load(instruction);
        calculate(instruction);
        break;
      case Does::begin_grad_mode: return modes_.begin_grad(instruction.arguments[0].toBool());
      case Does::begin_autocast: return modes_.begin_autocast(instruction.arguments, device_.type());
      case Does::end_mode: return modes_.end();
    }
    for (const std::uint32_t slot : instruction.release) frame_[slot] = {};
    store(instruction);
  }

 private:
  // Python's batch_norm says the same; LibTorch's operator would write infinity into the statistics.
  static void require_examples(const torch::Tensor& input) {
    TORCH_CHECK(input.dim() < 2 || input.numel() != input.size(1),
                "Expected more than 1 value per channel when training, got input size ", input.sizes());
  }

  void calculate(const Instruction& instruction) {
    try {
      c10::IValue result = instruction.arithmetic(stack_);
      stack_.assign(1, std::move(result));
    } catch (const std::exception& error) {
      fail(*instruction.node, error.what());
    }
  }

  void load(const Instruction& instruction) {
    stack_.assign(instruction.arguments.begin(), instruction.arguments.end());
    for (const std::uint32_t at : instruction.devices) stack_[at] = device_;
    for (const FromList& list : instruction.lists) stack_[list.argument] = built(list, frame_);
    for (const FromSlot& from : instruction.slots) {
      c10::IValue& value = frame_[from.slot];
      if (from.to_tensor)
        stack_[from.argument] = at::native::wrapped_scalar_tensor(value.toScalar());
      else if (from.last)
        stack_[from.argument] = std::move(value);
      else
        stack_[from.argument] = value;
    }
  }

  void store(const Instruction& instruction) {
    for (const ToSlots& store : instruction.results) {
      c10::IValue& result = stack_.at(store.result);
      if (!store.list) {
        if (store.slots[0]) frame_[*store.slots[0]] = std::move(result);
        continue;
      }
      const auto items = result.toTensorVector();
      if (items.size() != store.slots.size())
        fail(*instruction.node, "it returns " + std::to_string(items.size()) +
                                    " tensors, but the program was exported for " +
                                    std::to_string(store.slots.size()));
      for (std::size_t i = 0; i < items.size(); ++i)
        if (store.slots[i]) frame_[*store.slots[i]] = items[i];
    }
    stack_.clear();
  }

  std::vector<c10::IValue>& frame_;
  torch::Device device_;
  torch::jit::Stack stack_;
  Modes modes_;
};

}  // namespace

torch::Tensor run(const Code& code, std::vector<c10::IValue>& frame, torch::Device device) {
  Machine machine(frame, device);
  const Instruction* current = nullptr;
  try {
    for (const Instruction& instruction : code.instructions) {
      current = &instruction;
      machine.execute(instruction);
    }
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::DistError&) {
    throw;
  } catch (const c10::Error& error) {
    fail(*current->node, reason_of(error));
  }
  const c10::IValue output = std::move(frame[code.outputs[0]]);
  return output.toTensor();
}

}  // namespace runner::exported
