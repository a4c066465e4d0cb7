# What a plugin or another program may include: installed below include/runner/, each complete in itself
# (tests/cli/public_headers_test.py compiles each alone). Everything else is ours to change.

set(registry_headers
  registry/byte_size.hpp registry/codec.hpp registry/component.hpp registry/conform.hpp registry/diagnostics.hpp
  registry/duration.hpp registry/field.hpp registry/log.hpp registry/make_part.hpp registry/origin.hpp
  registry/registry.hpp registry/rules.hpp registry/schema.hpp registry/part_settings.hpp
  registry/value.hpp)

# The contract of a kind is components/<kind>s/<kind>.hpp, and what it is written with stands in contract/.
file(GLOB component_headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
     "${PROJECT_SOURCE_DIR}/components/contract/*.hpp" "${PROJECT_SOURCE_DIR}/components/*s/*.hpp")

set(runner_headers runner/plugins/stamp.hpp)
