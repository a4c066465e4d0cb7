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
// While this object exists, large freed blocks are returned to the kernel. Use it where large temporary
// blocks alternate with small permanent ones, which would fragment the heap.
class ReturnFreedMemory {
 public:
  ReturnFreedMemory();
  ~ReturnFreedMemory();
  ReturnFreedMemory(const ReturnFreedMemory&) = delete;
  ReturnFreedMemory& operator=(const ReturnFreedMemory&) = delete;
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
