#pragma once

#include <string>

namespace runner {

// What holds for the whole process, set once by the program, before it computes anything.

struct ProcessSettings {
  int threads = 0;             // CPU threads for computing; 0: all cores, shared out among the ranks here
  int local_ranks = 1;         // of this run on this machine
  bool deterministic = false;  // refuse operators whose result may differ from run to run
};
void apply(const ProcessSettings& settings);

// Tells the C library to keep what training frees: the next step asks for the same memory again, and giving
// it back to the kernel in between means clearing every page anew.
void keep_freed_memory();
// As long as this lives it is the other way round, for work whose large blocks come and go among small ones
// that stay: these would fill the holes, and the memory of the process would grow with every block.
class LargeBlocksGoBack {
 public:
  LargeBlocksGoBack();
  ~LargeBlocksGoBack();
  LargeBlocksGoBack(const LargeBlocksGoBack&) = delete;
  LargeBlocksGoBack& operator=(const LargeBlocksGoBack&) = delete;
};

// Some virtual machines advertise instructions (AMX) that kill the process when used. Tries low-precision
// arithmetic in a child process and, where that dies, lowers the instruction set that oneDNN may use until it
// lives. Has to run before the first oneDNN call and before any thread exists. Returns a line for the log,
// empty where all is well.
[[nodiscard]] std::string steer_around_broken_instructions();
void warn_and_steer_around_broken_instructions();  // logs that line

// From now on, what LibTorch warns of on this thread is logged like every other warning: it may quote a file,
// or come from the code of a TorchScript module.
void log_torch_warnings();

}  // namespace runner
