// The host touched memory of a device: say which, before the process dies of it.
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "memory.hpp"

namespace simulated_gpu {

namespace {

struct sigaction before;

void on_fault(int signal, siginfo_t* info, void* context) {
  // The process dies; what may not be called in a handler cannot make that worse.
  if (const std::string what = about(info->si_addr); !what.empty()) {
    const std::string line = "simulated GPU: " + what + "\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
  }
  sigaction(signal, &before, nullptr);
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(signal, info, context);  // otherwise the access happens again
}

[[maybe_unused]] const bool installed = [] {
  struct sigaction own = {};
  own.sa_sigaction = &on_fault;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  return sigaction(SIGSEGV, &own, &before) == 0;
}();

}  // namespace

}  // namespace simulated_gpu
