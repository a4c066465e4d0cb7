#pragma once

#include <string>

namespace runner {

// Some virtual machines advertise instructions (AMX) that kill the process when used. Tries low-precision
// arithmetic in a child process and, where that dies, lowers the instruction set that oneDNN may use until it
// lives. Has to run before the first oneDNN call and before any thread exists. Returns a line for the log,
// empty where all is well.
std::string steer_around_broken_instructions();

}  // namespace runner
