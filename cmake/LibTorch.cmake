# Finds LibTorch and defines the imported target `libtorch`.
#
# Looked for, in this order: LIBTORCH_DIR (CMake or environment variable), CMAKE_PREFIX_PATH, and .deps/ where
# scripts/setup.sh puts it. A directory counts if it holds lib/libtorch_cpu.so: an unpacked archive, or the torch
# folder of an installed wheel.
#
# The package's own TorchConfig.cmake is not used: for a CUDA build it insists on a CUDA toolkit, and it drags in
# protobuf and MKL look-ups that a program which only links the libraries does not need.

if(NOT LIBTORCH_DIR AND DEFINED ENV{LIBTORCH_DIR})
  set(LIBTORCH_DIR "$ENV{LIBTORCH_DIR}")
endif()
file(GLOB libtorch_from_setup "${PROJECT_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages/torch")

# CMAKE_PREFIX_PATH for a wheel is <torch>/share/cmake, for an archive <libtorch>: accept both.
set(libtorch_prefixes ${CMAKE_PREFIX_PATH})
if(DEFINED ENV{CMAKE_PREFIX_PATH})
  string(REPLACE ":" ";" prefixes_from_environment "$ENV{CMAKE_PREFIX_PATH}")
  list(APPEND libtorch_prefixes ${prefixes_from_environment})
endif()
set(libtorch_candidates ${LIBTORCH_DIR})
foreach(prefix IN LISTS libtorch_prefixes)
  list(APPEND libtorch_candidates "${prefix}" "${prefix}/../..")
endforeach()
if(NOT LIBTORCH_DIR) # an explicit choice that is wrong must fail, not fall back
  list(APPEND libtorch_candidates ${libtorch_from_setup})
endif()

foreach(candidate IN LISTS libtorch_candidates)
  if(EXISTS "${candidate}/lib/libtorch_cpu.so")
    get_filename_component(libtorch_root "${candidate}" REALPATH)
    break()
  endif()
endforeach()
if(NOT libtorch_root)
  message(FATAL_ERROR "LibTorch not found in: ${libtorch_candidates}\nRun scripts/setup.sh, or set LIBTORCH_DIR.")
endif()

set(libtorch_lib_dir "${libtorch_root}/lib")
file(STRINGS "${libtorch_root}/share/cmake/Torch/TorchConfigVersion.cmake" libtorch_version REGEX "set\\(PACKAGE_VERSION ")
string(REGEX MATCH "[0-9.]+" libtorch_version "${libtorch_version}")
message(STATUS "LibTorch ${libtorch_version}: ${libtorch_root}")
if(libtorch_version VERSION_LESS 2.13)
  message(FATAL_ERROR "LibTorch ${libtorch_version} is too old: 2.13 is needed.")
endif()

add_library(libtorch INTERFACE IMPORTED)
target_include_directories(libtorch SYSTEM INTERFACE
  "${libtorch_root}/include" "${libtorch_root}/include/torch/csrc/api/include")
target_compile_definitions(libtorch INTERFACE USE_DISTRIBUTED USE_C10D USE_C10D_GLOO)
foreach(name IN ITEMS torch torch_cpu c10 torch_cuda c10_cuda) # the last two only in a CUDA build
  if(EXISTS "${libtorch_lib_dir}/lib${name}.so")
    target_link_libraries(libtorch INTERFACE "${libtorch_lib_dir}/lib${name}.so")
  endif()
endforeach()
if(EXISTS "${libtorch_lib_dir}/libtorch_cuda.so")
  # Kernels register themselves on load: the library must stay although nothing refers to it by name.
  target_link_options(libtorch INTERFACE "LINKER:--no-as-needed" "LINKER:--allow-shlib-undefined")
endif()
