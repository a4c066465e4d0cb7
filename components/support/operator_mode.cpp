#include "components/support/operator_mode.hpp"

#include <torch/library.h>

namespace runner {

namespace {

constexpr c10::DispatchKey mode_key = c10::DispatchKey::TESTING_ONLY_GenericMode;

thread_local OperatorMode* active = nullptr;

void intercept(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const OperatorModePause pause;
  if (active) {
    active->run(op, *stack);
  } else {
    op.callBoxed(stack);
  }
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&intercept>());
}

}  // namespace

OperatorModeScope::OperatorModeScope(OperatorMode& mode) : outer_(active), included_(mode_key) {
  active = &mode;
}

OperatorModeScope::~OperatorModeScope() { active = outer_; }

OperatorModePause::OperatorModePause() : excluded_(mode_key) {}

}  // namespace runner
