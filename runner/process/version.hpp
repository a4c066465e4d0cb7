#pragma once

namespace runner {

// "0.1.0 (commit 1234567890ab)", as the build system found it when the program was built.
extern const char* const version_text;

}  // namespace runner
