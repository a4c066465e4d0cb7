# Read by CPack for each kind of package.
if(CPACK_GENERATOR STREQUAL "DEB")
  # Carries libraries of its own, so it stays out of the system's folders; only the command is linked there.
  set(CPACK_PACKAGING_INSTALL_PREFIX "/opt/runner")
endif()
