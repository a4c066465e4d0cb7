#include "registry/base/live_line.hpp"

#include <mutex>

namespace runner {
namespace {

struct State {
  std::recursive_mutex mutex;  // code that draws the line may itself print or log
  LiveLine* line = nullptr;
  int pauses = 0;
};

// Never destroyed: threads may still print while the process ends.
State& state() {
  static State& instance = *new State;
  return instance;
}

}  // namespace

void set_live_line(LiveLine* line) {
  const std::lock_guard lock(state().mutex);
  state().line = line;
}

std::unique_lock<std::recursive_mutex> lock_live_line() { return std::unique_lock(state().mutex); }

LiveLinePause::LiveLinePause() {
  state().mutex.lock();
  if (state().pauses++ == 0 && state().line != nullptr) state().line->erase();
}

LiveLinePause::~LiveLinePause() {
  if (--state().pauses == 0 && state().line != nullptr) state().line->draw();
  state().mutex.unlock();
}

}  // namespace runner
