#pragma once

#include <string_view>

#include "registry/log.hpp"

namespace runner::log {

// Into the log files alone: what the console has shown in a form of its own.
void write_to_files(std::string_view message, Level level = Level::info);

}  // namespace runner::log
