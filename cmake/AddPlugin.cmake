# runner_add_plugin(NAME SOURCES..): a plugin, libNAME.so, beside its CMakeLists.txt, where a recipe in the same folder
# finds it. Compiled so that its types fit the program, and stamped, so that the program can see that they do.
function(runner_add_plugin name)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
  endif()
  add_library(${name} MODULE ${ARGN} "${runner_plugin_dir}/plugin_stamp.cpp")
  target_link_libraries(${name} PRIVATE runner::runner)
  target_link_options(${name} PRIVATE "LINKER:-z,defs")
  set_target_properties(${name} PROPERTIES
    PREFIX lib SUFFIX .so CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON SKIP_BUILD_RPATH ON
    POSITION_INDEPENDENT_CODE ON LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
endfunction()

# runner_add_plugin_test(NAME PLUGIN SOURCES..): a program with the plugin's components in it, run by ctest; not built with
# BUILD_TESTING=OFF.
function(runner_add_plugin_test name plugin)
  if(DEFINED BUILD_TESTING AND NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:${plugin}>)
  target_link_libraries(${name} PRIVATE runner::runner)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# runner_precompile_headers(TARGET..): LibTorch's headers and those of the library, parsed once for all of these programs.
function(runner_precompile_headers first)
  target_precompile_headers(${first} PRIVATE <torch/data.h> <torch/nn.h> <torch/utils.h> <runner/accelerator/accelerator.hpp>)
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM ${first})
  endforeach()
endfunction()

set(runner_plugin_dir "${CMAKE_CURRENT_LIST_DIR}")
