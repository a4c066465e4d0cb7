#include "runner/ranks/nccl.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "registry/base/log.hpp"
#include "runner/engine/runtime/cuda_library.hpp"

namespace runner {

c10::intrusive_ptr<c10d::Backend> make_nccl_group(const NcclWish& wish) {
  if (const std::string problem = nccl_problem(); !problem.empty()) throw std::runtime_error(problem);
  const auto make = reinterpret_cast<MakeNcclGroup>(dlsym(cuda_library().handle, make_nccl_group_symbol));
  return c10::intrusive_ptr<c10d::Backend>::reclaim(make(wish));
}

std::string nccl_problem() {
  const CudaLibrary& library = cuda_library();
  if (!library.handle) {
    return log::format(
        "This program was built without NCCL, so several ranks can train on CPUs only: run.device=cpu. "
        "docs/distributed.md says how to build it with CUDA. ({})",
        library.problem);
  }
  if (!dlsym(library.handle, make_nccl_group_symbol))
    return log::format("{} belongs to another version of this program.", CudaLibrary::name);
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
