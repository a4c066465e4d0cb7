#include "runner/engine/runtime/process.hpp"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "registry/base/log.hpp"
#include "registry/base/machine.hpp"

namespace runner {

namespace {

// Threads for this rank; 0: LibTorch's default. A launcher may already have bound each rank to its own cores.
int share_of_threads(int ranks) {
  if (ranks == 1 || std::getenv("OMP_NUM_THREADS")) return 0;
  const auto cores = static_cast<int>(usable_cores());
  const bool bound = std::int64_t{cores} * ranks <= sysconf(_SC_NPROCESSORS_ONLN);
  return bound ? cores : std::max(1, cores / ranks);
}

}  // namespace

void apply(const ProcessSettings& settings) {
  const int threads = settings.threads > 0 ? settings.threads : share_of_threads(settings.local_ranks);
  if (threads > 0) torch::set_num_threads(threads);
  at::globalContext().setDeterministicAlgorithms(settings.deterministic, /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(settings.deterministic);
  // cuBLAS reads it when it is first used; without it LibTorch refuses its products in a deterministic run.
  if (settings.deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setBenchmarkCuDNN(settings.cudnn_benchmark && !settings.deterministic);
}

void keep_freed_memory() {
  constexpr int mebibyte = 1 << 20;
  // The most that glibc allows: larger blocks always go back to the kernel.
  mallopt(M_MMAP_THRESHOLD, 32 * mebibyte);
  mallopt(M_TRIM_THRESHOLD, 1024 * mebibyte);
  mallopt(M_TOP_PAD, 16 * mebibyte);
}

ReturnFreedMemory::ReturnFreedMemory() { mallopt(M_MMAP_THRESHOLD, 1 << 20); }

ReturnFreedMemory::~ReturnFreedMemory() { keep_freed_memory(); }

namespace {

constexpr const char* limit_variable = "ONEDNN_MAX_CPU_ISA";

// oneDNN takes special paths only if the CPU advertises more than plain AVX-512.
bool advertises_low_precision_instructions() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags")) continue;
    return line.find("amx") != std::string::npos || line.find("avx512_bf16") != std::string::npos ||
           line.find("avx512_fp16") != std::string::npos;
  }
  return false;
}

void use_low_precision() {
  torch::NoGradGuard no_grad;
  torch::set_num_threads(1);
  for (const auto type : {torch::kBFloat16, torch::kFloat16}) {
    const auto matrix = torch::ones({64, 64}, type);
    torch::mm(matrix, matrix);
    torch::conv2d(torch::ones({1, 16, 8, 8}, type), torch::ones({16, 16, 3, 3}, type));
  }
}

// True if a child process survives low-precision arithmetic.
bool survives(const char* isa_limit) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a child process to probe the CPU");
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (isa_limit) setenv(limit_variable, isa_limit, 1);
    for (const int deadly : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) std::signal(deadly, SIG_DFL);
    try {
      use_low_precision();
    } catch (...) {
      _exit(0);  // a missing operator is an ordinary error, which is reported when it is used
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status);
}

}  // namespace

std::string steer_around_broken_instructions() {
  static bool probed = false;  // only once, because the process may have threads by the second call
  if (std::exchange(probed, true)) return "";
  if (std::getenv(limit_variable) || !advertises_low_precision_instructions() || survives(nullptr)) return "";
  constexpr std::array limits{"AVX512_CORE_FP16", "AVX512_CORE_BF16", "AVX512_CORE_VNNI", "AVX512_CORE",
                              "AVX2"};
  for (const char* limit : limits) {
    if (!survives(limit)) continue;
    setenv(limit_variable, limit, 1);
    return "this CPU advertises instructions that it does not execute; oneDNN is limited to " +
           std::string(limit);
  }
  throw std::runtime_error(
      "low-precision arithmetic kills the process on this CPU, whatever the instruction set; "
      "use precision=fp32");
}

void warn_and_steer_around_broken_instructions() {
  if (const std::string steered = steer_around_broken_instructions(); !steered.empty()) log::warning(steered);
}

void show_no_stack_frames() {
  const char* wanted = std::getenv("TORCH_SHOW_CPP_STACKTRACES");
  if (wanted && std::string_view(wanted) == "1") return;
  // Ranks that are threads of one process get here at the same time, and LibTorch guards nothing.
  static std::once_flag once;
  std::call_once(once, [] { c10::SetStackTraceFetcher([] { return std::string(); }); });
}

void log_torch_warnings() {
  struct Logged final : c10::WarningHandler {
    void process(const c10::Warning& warning) override { log::warning("{}", warning.msg()); }
  };
  static Logged handler;
  c10::WarningUtils::set_warning_handler(&handler);
}

}  // namespace runner
