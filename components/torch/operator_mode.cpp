#include "components/torch/operator_mode.hpp"

#include <torch/library.h>

#include <memory>
#include <string_view>

namespace runner {

namespace {

constexpr c10::DispatchKey mode_key = c10::DispatchKey::TESTING_ONLY_GenericMode;

constexpr std::string_view slot_name = "runner's operator mode";
constexpr c10::DebugInfoKind slot(&slot_name);

struct ActiveMode final : c10::DebugInfoBase {
  explicit ActiveMode(OperatorMode& it) : mode(it) {}
  OperatorMode& mode;
};

bool looks_inside(const ActiveMode* active, const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const OperatorModePause pause;
  return active && active->mode.looks_inside(op, stack);
}

void intercept(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  auto* const active = static_cast<ActiveMode*>(c10::ThreadLocalDebugInfo::get(slot));
  if (looks_inside(active, op, *stack))
    return op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, mode_key), stack);
  const OperatorModePause pause;
  if (active) {
    active->mode.run(op, *stack);
  } else {
    op.callBoxed(stack);
  }
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&intercept>());
}

}  // namespace

OperatorModeScope::OperatorModeScope(OperatorMode& mode)
    : active_(slot, std::make_shared<ActiveMode>(mode)), included_(mode_key) {}

OperatorModePause::OperatorModePause() : excluded_(mode_key) {}

}  // namespace runner
