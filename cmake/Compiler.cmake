# What every target of ours is compiled and linked with. Third-party headers are SYSTEM, so warnings are about our code.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# NDEBUG although it is for debugging: without it some classes of LibTorch have another layout than in the library.
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1 -DNDEBUG -D_GLIBCXX_ASSERTIONS")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# One flag for libraries and executables alike, instead of CMake's -fPIC and -fPIE: a precompiled header is only
# shared between targets whose flags are equal.
add_compile_options(-fPIC)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
                    -Wextra-semi -Wimplicit-fallthrough -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess                                # lets ccache see through the precompiled header
                      -Wno-dangling-pointer -Wno-maybe-uninitialized  # g++ 12: false alarms inside inlined LibTorch code
                      -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread  # g++ 12: false alarms about moved std::strings
                      -Wno-missing-field-initializers)                # designated initialisers keep the defaults on purpose
else()
  add_compile_options(-Wno-missing-field-initializers -Wno-missing-designated-field-initializers
                      -Wno-deprecated-declarations # reported for libstdc++ 12's own std::stable_sort; g++ still watches ours
                      "SHELL:-Xclang -fno-pch-timestamp") # ccache compares contents, not times
endif()

# RUNNER_SANITIZE: a list for -fsanitize=, set by the asan, tsan and fuzz presets.
if(RUNNER_SANITIZE)
  add_compile_options(-fsanitize=${RUNNER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RUNNER_SANITIZE})
  if(RUNNER_SANITIZE MATCHES "undefined")
    # vptr checks need type information of LibTorch classes that is not exported.
    add_compile_options(-fno-sanitize=vptr -fno-sanitize-recover=all)
  endif()
else()
  add_link_options("LINKER:-z,defs") # a library that uses what it does not link fails here: layering
endif()

foreach(linker IN ITEMS mold lld) # LibTorch makes linking slow with the default linker
  find_program(RUNNER_${linker} NAMES ld.${linker})
  if(RUNNER_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

find_program(RUNNER_CCACHE ccache)
if(RUNNER_CCACHE)
  # The inode cache keeps it from reading the precompiled header again for every file; depend mode from preprocessing
  # every file once before compiling it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_INODECACHE=true CCACHE_DEPEND=true
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${RUNNER_CCACHE})
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
