#pragma once

#include <optional>
#include <vector>

#include "components/contract/state.hpp"
#include "runner/engine/window.hpp"

namespace runner {

// The mean loss over many updates. Adding one is cheap: losses are read from the device together, when the
// mean is requested or many have accumulated.
class TrainingLoss final : public Stateful {
 public:
  void add(const WindowLoss& loss);
  std::optional<double> take();  // the mean since the last call; no value if nothing was added

  State save() const override;
  void load(const State& state) override;

 private:
  void read() const;

  mutable std::vector<WindowLoss> unread_;  // still on the device
  mutable double sum_ = 0;
  mutable std::int64_t count_ = 0;
};

}  // namespace runner
