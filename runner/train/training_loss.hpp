#pragma once

#include <vector>

#include "components/contract/state.hpp"
#include "runner/engine/window.hpp"

namespace runner {

// The mean over many updates. Adding one costs nothing: losses are read from the device together, when the
// mean is asked for or many have come together.
class TrainingLoss final : public Stateful {
 public:
  void add(const WindowLoss& loss);
  double take();  // since it was last taken

  State save() const override;
  void load(const State& state) override;

 private:
  void read() const;

  mutable std::vector<WindowLoss> unread_;  // read when somebody asks for the mean
  mutable double sum_ = 0;
  mutable std::int64_t count_ = 0;
};

}  // namespace runner
