# librunner_cuda.so: exchange between GPUs, and graphs. Made where LibTorch is a CUDA build and the headers of CUDA and NCCL are found; the
# rest of the program is the same with and without it, and loads it when it computes on GPUs.
#
# Looked for: CUDA_HOME (environment), the packages of NVIDIA beside the torch wheel, /usr/local/cuda.

if(NOT EXISTS "${libtorch_lib_dir}/libtorch_cuda.so")
  return()
endif()

file(GLOB nvidia_include_dirs "${libtorch_root}/../nvidia/*/include")
set(cuda_hints $ENV{CUDA_HOME}/include ${nvidia_include_dirs} /usr/local/cuda/include)
set(nccl_include_dirs "")
foreach(header IN ITEMS nccl.h cuda_runtime_api.h cublas_v2.h cusparse.h cusolverDn.h)
  string(MAKE_C_IDENTIFIER "RUNNER_${header}_DIR" found)
  find_path(${found} ${header} HINTS ${cuda_hints})
  if(NOT ${found})
    message(STATUS "CUDA: ${header} not found, so ranks cannot use GPUs together; set CUDA_HOME")
    return()
  endif()
  list(APPEND nccl_include_dirs "${${found}}")
endforeach()
list(REMOVE_DUPLICATES nccl_include_dirs)

add_library(runner_cuda MODULE ${cuda_sources})
target_include_directories(runner_cuda PRIVATE "${PROJECT_SOURCE_DIR}")
target_include_directories(runner_cuda SYSTEM PRIVATE ${nccl_include_dirs})
target_compile_definitions(runner_cuda PRIVATE USE_C10D_NCCL)
target_link_libraries(runner_cuda PRIVATE libtorch)
install(TARGETS runner_cuda DESTINATION "${CMAKE_INSTALL_LIBDIR}")
