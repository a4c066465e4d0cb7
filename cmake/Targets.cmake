# The few functions the lists of targets are written with.

# All .cpp files below a directory; new files are found without touching CMake.
function(runner_sources variable directory)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${directory}/*.cpp")
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# A precompiled header, made once and shared by all targets that name it. Options and libraries: what it is compiled with,
# which must be what its targets are compiled with.
function(runner_precompile target header)
  cmake_path(GET header STEM name)
  set(holder pch_${name})
  if(NOT TARGET ${holder})
    cmake_parse_arguments(arg "" "" "OPTIONS;LIBRARIES" ${ARGN})
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/${holder}.cpp" CONTENT "// holds the precompiled header\n")
    add_library(${holder} OBJECT "${PROJECT_BINARY_DIR}/${holder}.cpp")
    target_link_libraries(${holder} PRIVATE ${arg_LIBRARIES})
    target_compile_options(${holder} PRIVATE ${arg_OPTIONS})
    target_include_directories(${holder} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_precompile_headers(${holder} PRIVATE "${PROJECT_SOURCE_DIR}/${header}")
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()

# runner_library(NAME [TORCH] SOURCES .. [HEADERS ..] [PUBLIC ..] [PRIVATE ..]): a shared library.
# HEADERS are those that other programs may include; they are installed.
function(runner_library target)
  cmake_parse_arguments(arg "TORCH" "" "SOURCES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
  add_library(${target} SHARED ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "") # equal flags, so that the precompiled header is shared
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/runner>")
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  if(arg_TORCH)
    target_link_libraries(${target} PUBLIC libtorch)
    runner_precompile(${target} cmake/torch_pch.hpp LIBRARIES libtorch)
  else()
    runner_precompile(${target} cmake/plain_pch.hpp)
  endif()
  set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}")
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${exports}")
  # Components register themselves on load, so a library of ours stays linked although nothing refers to it by name.
  target_link_options(${target} INTERFACE "LINKER:--no-as-needed")
  install(TARGETS ${target} EXPORT runner_targets RUNTIME_DEPENDENCY_SET runner_dependencies)
  foreach(header IN LISTS arg_HEADERS)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES "${PROJECT_SOURCE_DIR}/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/runner/${folder}")
  endforeach()
endfunction()
