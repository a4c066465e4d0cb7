#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runner/plugins/stamp.hpp"

namespace runner {

// The stamp in a plugin's file; nothing of the file is executed. Nothing comes back for a sound shared
// library without one. Throws PluginError for a file that is broken or not a shared library for this machine.
std::optional<PluginStamp> read_stamp(const std::filesystem::path& file);

// In which way the plugin does not fit this program, as the end of a sentence; empty where it fits.
std::string misfit(const PluginStamp& plugin, const PluginStamp& program = own_stamp());

}  // namespace runner
