#pragma once

#include <string>

namespace runner {

// Settings of the whole process, applied once by the program, before it computes anything.

struct ProcessSettings {
  int threads = 0;             // compute threads; 0: all cores, divided among the ranks of this machine
  int local_ranks = 1;         // of this run on this machine
  bool deterministic = false;  // refuse operators whose result may differ from run to run
  bool cudnn_benchmark = false;
};
void apply(const ProcessSettings& settings);

// Tells the C library to keep freed memory: the next step allocates the same amount again, and if it were
// returned to the kernel in between, the kernel would have to clear every page again.
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
// arithmetic in a child process and, if that dies, lowers the instruction set that oneDNN may use until it
// survives. Must run before the first oneDNN call and before any thread exists. Returns a line for the log,
// empty if nothing had to be changed.
[[nodiscard]] std::string steer_around_broken_instructions();
void warn_and_steer_around_broken_instructions();  // logs that line

// From now on, exceptions of LibTorch say what is wrong without the functions that led there, unless
// TORCH_SHOW_CPP_STACKTRACES=1 asks for them.
void show_no_stack_frames();

// From now on, warnings of LibTorch on this thread are logged like all other warnings: they may quote a file,
// or come from the code of a TorchScript module.
void log_torch_warnings();

}  // namespace runner
