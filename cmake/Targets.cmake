# The few functions the lists of targets are written with.

# All .cpp files below a directory; new files are found without touching CMake.
function(runner_sources variable directory)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${directory}/*.cpp")
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# target_link_libraries that passes over layers of ours which have no source yet.
function(runner_link target scope)
  foreach(library IN LISTS ARGN)
    if(NOT library MATCHES "^runner_" OR TARGET ${library})
      target_link_libraries(${target} ${scope} ${library})
    endif()
  endforeach()
endfunction()

# Torch, with the one precompiled header that all targets share.
function(runner_use_torch target)
  if(NOT TARGET runner_torch_pch)
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/torch_pch.cpp" CONTENT "// holds the precompiled header\n")
    add_library(runner_torch_pch OBJECT "${PROJECT_BINARY_DIR}/torch_pch.cpp")
    target_link_libraries(runner_torch_pch PRIVATE libtorch)
    target_precompile_headers(runner_torch_pch PRIVATE "${PROJECT_SOURCE_DIR}/cmake/torch_pch.hpp")
  endif()
  target_link_libraries(${target} PUBLIC libtorch)
  target_precompile_headers(${target} REUSE_FROM runner_torch_pch)
endfunction()

# runner_library(NAME [TORCH] SOURCES .. [PUBLIC ..] [PRIVATE ..]): a shared library, if it has sources.
function(runner_library target)
  cmake_parse_arguments(arg "TORCH" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(NOT arg_SOURCES)
    return()
  endif()
  add_library(${target} SHARED ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "") # equal flags, so that the precompiled header is shared
  runner_link(${target} PUBLIC ${arg_PUBLIC})
  runner_link(${target} PRIVATE ${arg_PRIVATE})
  if(arg_TORCH)
    runner_use_torch(${target})
  endif()
  # Components register themselves on load, so a library of ours stays linked although nothing refers to it by name.
  target_link_options(${target} INTERFACE "LINKER:--no-as-needed")
  install(TARGETS ${target})
endfunction()

# Folders whose sources know no tensor: without LibTorch's precompiled header they compile several times as fast.
function(runner_without_tensors)
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
    set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endfunction()
