#pragma once

#include <vector>

#include "runner/engine/window_loss.hpp"

namespace runner {

// The mean over many updates. Adding one costs nothing: losses are read from the device together, when the
// mean is asked for or many have come together.
class TrainingLoss {
 public:
  void add(const WindowLoss& loss);
  double take();  // since it was last taken

 private:
  void read();

  std::vector<WindowLoss> unread_;
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace runner
