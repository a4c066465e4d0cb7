#pragma once

#include <string>

namespace runner {

// All that needs the headers of CUDA is a library of its own, made of runner/cuda/ with a CUDA build of
// LibTorch, and loaded where something computes on GPUs: without it this program is the same.
struct CudaLibrary {
  static constexpr auto name = "librunner_cuda.so";

  void* handle = nullptr;  // null: it is not there
  std::string problem = {};
};

// Loads it the first time. It stays loaded: LibTorch keeps pointers to what it brings.
const CudaLibrary& cuda_library();

}  // namespace runner
