# runner_assets(OUTPUT FILE..): a source file that holds text files as constants, NAME_EXTENSION each; made again when one changes.
function(runner_assets output)
  set(constants "")
  foreach(file IN LISTS ARGN)
    file(READ "${file}" text)
    get_filename_component(name "${file}" NAME)
    string(REPLACE "." "_" name "${name}")
    string(APPEND constants "const std::string_view ${name} = R\"asset(${text})asset\";\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  endforeach()
  file(CONFIGURE OUTPUT "${output}" @ONLY
       CONTENT "#include \"runner/runs/report/assets.hpp\"\n\nnamespace runner::assets {\n@constants@}\n")
endfunction()
