# What `cmake --install` and the packages hold in addition to the program and its libraries: what find_package(runner) and
# pkg-config need, recipes, and the examples that `runner plugin new` starts from.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/runner")
set(data_dir "${CMAKE_INSTALL_DATADIR}/runner")

# The same package for the installation and for the build tree: the tests of this tree use it as users do.
set(runner_libtorch_dir "${libtorch_root}")
if(RUNNER_BUNDLE_LIBTORCH)
  set(runner_libtorch_dir "")
endif()
configure_package_config_file(cmake/runnerConfig.cmake.in "${PROJECT_BINARY_DIR}/runnerConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}" NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/runnerConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/runnerConfig.cmake" "${PROJECT_BINARY_DIR}/runnerConfigVersion.cmake"
              cmake/LibTorch.cmake cmake/AddPlugin.cmake cmake/plugin_stamp.cpp
        DESTINATION "${package_dir}")
export(EXPORT runner_targets NAMESPACE runner:: FILE "${PROJECT_BINARY_DIR}/runnerTargets.cmake")
foreach(file IN ITEMS LibTorch.cmake AddPlugin.cmake plugin_stamp.cpp)
  configure_file("cmake/${file}" "${PROJECT_BINARY_DIR}/${file}" COPYONLY)
endforeach()
install(EXPORT runner_targets NAMESPACE runner:: FILE runnerTargets.cmake DESTINATION "${package_dir}")

# With the libraries of LibTorch beside ours there are no headers of it: pkg-config --define-variable=torch=DIR names them.
set(runner_pc_torch "${libtorch_root}")
if(RUNNER_BUNDLE_LIBTORCH)
  set(runner_pc_torch "\${prefix}")
endif()
configure_file(cmake/runner.pc.in runner.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/runner.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(FILES scripts/export_model.py DESTINATION "${data_dir}/scripts")
install(DIRECTORY recipes DESTINATION "${data_dir}" FILES_MATCHING PATTERN "*.toml")
install(DIRECTORY examples/plugin DESTINATION "${data_dir}/examples" FILES_MATCHING
        PATTERN "*.cpp" PATTERN "*.toml" PATTERN CMakeLists.txt PATTERN .gitignore
        PATTERN build EXCLUDE PATTERN runs EXCLUDE) # left there if one was built in place
install(FILES LICENSE README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES docs/runner.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")

if(RUNNER_BUNDLE_LIBTORCH)
  # Also what our libraries and LibTorch need and a bare system lacks, so that the folder runs wherever it is unpacked. What
  # belongs to glibc works with no other version of it, and stays out.
  install(RUNTIME_DEPENDENCY_SET runner_dependencies
          PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|mvec|dl|rt|pthread|util|resolv|stdc\\+\\+|gcc_s)\\.so" "^librunner_"
          POST_EXCLUDE_REGEXES "^${libtorch_root}/"
          DIRECTORIES "${libtorch_lib_dir}"
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

set(CPACK_GENERATOR TGZ DEB) # with RUNNER_BUNDLE_LIBTORCH: scripts/package.sh
set(CPACK_PACKAGE_NAME runner)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_CONTACT "the runner developers")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/PackageOptions.cmake")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), libstdc++6 (>= 12), libgcc-s1")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/deb/postinst;${PROJECT_SOURCE_DIR}/cmake/deb/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
