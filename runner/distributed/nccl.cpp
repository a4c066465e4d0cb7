#include "runner/distributed/nccl.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "registry/log.hpp"

namespace runner {

namespace {

constexpr auto library = "librunner_nccl.so";

// Stays loaded: LibTorch keeps pointers to what it brings.
void* loaded_library() {
  static void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle;
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_nccl_group(const NcclWish& wish) {
  if (const std::string problem = nccl_problem(); !problem.empty()) throw std::runtime_error(problem);
  const auto make = reinterpret_cast<MakeNcclGroup>(dlsym(loaded_library(), make_nccl_group_symbol));
  return c10::intrusive_ptr<c10d::Backend>::reclaim(make(wish));
}

std::string nccl_problem() {
  if (!loaded_library()) {
    const char* const why = dlerror();
    return log::format(
        "This program was built without NCCL, so several ranks can train on CPUs only: run.device=cpu. "
        "docs/distributed.md says how to build it with CUDA. ({})",
        why ? why : "librunner_nccl.so is not there");
  }
  if (!dlsym(loaded_library(), make_nccl_group_symbol))
    return log::format("{} is of another version of this program.", library);
  return "";
}

std::string nccl_version() {
  void* const nccl = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  using GetVersion = int (*)(int*);
  const auto get = nccl ? reinterpret_cast<GetVersion>(dlsym(nccl, "ncclGetVersion")) : nullptr;
  int code = 0;
  if (!get || get(&code) != 0) return "";
  return log::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

}  // namespace runner
