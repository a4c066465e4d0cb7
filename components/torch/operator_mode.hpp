#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace runner {

// Intercepts every operator that its thread calls while it is active, before any other dispatch key. LibTorch
// has one free dispatch key for this, with one handler per process, so all users of it share this file.
class OperatorMode {
 public:
  virtual ~OperatorMode() = default;

  // The arguments are on the stack and have to be replaced by the results; `op.callBoxed(&stack)` does what
  // would have been done without the mode. Operators called from within run() are not intercepted.
  virtual void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) = 0;
  // True: run() gets the operators that this one calls instead of this one, with arguments as autocast has
  // cast them.
  virtual bool looks_inside(const c10::OperatorHandle&, const torch::jit::Stack&) { return false; }
};

// Activates a mode on this thread during its lifetime; the innermost mode counts. Threads to which LibTorch
// hands over work of this thread inherit it: the backward pass on a GPU has a thread of its own.
class OperatorModeScope {
 public:
  explicit OperatorModeScope(OperatorMode& mode);
  OperatorModeScope(const OperatorModeScope&) = delete;
  OperatorModeScope& operator=(const OperatorModeScope&) = delete;

 private:
  c10::DebugInfoGuard active_;
  c10::impl::IncludeDispatchKeyGuard included_;
};

// Suspends all modes on this thread during its lifetime.
class OperatorModePause {
 public:
  OperatorModePause();

 private:
  c10::impl::ExcludeDispatchKeyGuard excluded_;
};

}  // namespace runner
