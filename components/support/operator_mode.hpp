#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace runner {

// Gets every operator that its thread calls while it is active, before anybody else does. LibTorch leaves one
// dispatch key to this, with one function behind it in the whole process: all who need it share this file.
class OperatorMode {
 public:
  virtual ~OperatorMode() = default;

  // Arguments are on the stack, and results belong there afterwards; `op.callBoxed(&stack)` does what would
  // have been done without the mode. Operators called from within are not seen.
  virtual void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) = 0;
  // True: instead of this operator, run() gets those that it calls, with what autocast makes of its
  // arguments.
  virtual bool looks_inside(const c10::OperatorHandle&, const torch::jit::Stack&) { return false; }
};

// Active on this thread as long as this lives; the innermost one counts. Threads that LibTorch hands this
// thread's work to have it, too: backward on a GPU has a thread of its own.
class OperatorModeScope {
 public:
  explicit OperatorModeScope(OperatorMode& mode);
  OperatorModeScope(const OperatorModeScope&) = delete;
  OperatorModeScope& operator=(const OperatorModeScope&) = delete;

 private:
  c10::DebugInfoGuard active_;
  c10::impl::IncludeDispatchKeyGuard included_;
};

// No mode sees what happens on this thread as long as this lives.
class OperatorModePause {
 public:
  OperatorModePause();

 private:
  c10::impl::ExcludeDispatchKeyGuard excluded_;
};

}  // namespace runner
