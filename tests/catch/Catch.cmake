# Defines `catch_main`: Catch2 and its main(). Tests are written for Catch2 3 (its catch_all.hpp and SKIP). Debian 12 has
# 2.13, for which this folder has a header of that name.

find_package(Catch2 3 QUIET)
if(Catch2_FOUND)
  add_library(catch_main INTERFACE)
  target_link_libraries(catch_main INTERFACE Catch2::Catch2WithMain)
else()
  add_library(catch_main STATIC "${CMAKE_CURRENT_LIST_DIR}/main.cpp")
  target_include_directories(catch_main SYSTEM PUBLIC "${CMAKE_CURRENT_LIST_DIR}")
endif()
