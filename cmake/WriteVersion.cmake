# Run at every build: writes OUTPUT with the commit of SOURCE in it, where that has changed.
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(text "${VERSION}")
if(commit)
  set(text "${VERSION} (commit ${commit})")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[#include "runner/process/version.hpp"

namespace runner {

const char* const version_text = "@text@";

}  // namespace runner
]] @ONLY)
