# runner_add_plugin(NAME SOURCES..): a plugin, libNAME.so, beside its CMakeLists.txt, where a recipe in the same folder
# finds it. Compiled so that its types fit the program, and stamped, so that the program can see that they do.
function(runner_add_plugin name)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
  endif()
  add_library(${name} MODULE ${ARGN} "${runner_plugin_dir}/plugin_stamp.cpp")
  target_link_libraries(${name} PRIVATE runner::runner)
  # LibTorch's own libraries are compiled with NDEBUG, and some of its classes have another layout without it.
  target_compile_definitions(${name} PRIVATE NDEBUG)
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
  target_compile_definitions(${name} PRIVATE NDEBUG)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

set(runner_plugin_dir "${CMAKE_CURRENT_LIST_DIR}")
