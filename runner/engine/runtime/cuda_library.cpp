#include "runner/engine/runtime/cuda_library.hpp"

#include <dlfcn.h>

namespace runner {

const CudaLibrary& cuda_library() {
  static const CudaLibrary library = [] {
    void* const handle = dlopen(CudaLibrary::name, RTLD_NOW | RTLD_LOCAL);
    const char* const why = handle ? nullptr : dlerror();
    return CudaLibrary{handle, why ? why : ""};
  }();
  return library;
}

}  // namespace runner
