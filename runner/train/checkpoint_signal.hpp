#pragma once

namespace runner {

// Turns SIGUSR1 into a request for a checkpoint that the loop sees after its step. One at a time: signal
// handlers belong to the process.
class CheckpointSignal {
 public:
  CheckpointSignal();
  ~CheckpointSignal();
  CheckpointSignal(const CheckpointSignal&) = delete;
  CheckpointSignal& operator=(const CheckpointSignal&) = delete;

  bool take() const;  // whether one came since this was last asked
};

}  // namespace runner
