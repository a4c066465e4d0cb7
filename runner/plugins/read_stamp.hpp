#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runner/plugins/stamp.hpp"

namespace runner {

// The stamp in a plugin's file; nothing of the file is executed. Nothing comes back for a sound shared
// library without one. Throws PluginError for what is no shared library for this machine, or a broken one.
std::optional<PluginStamp> read_stamp(const std::filesystem::path& file);

// In which way the plugin does not fit this program, as the end of a sentence; empty where it fits.
std::string misfit(const PluginStamp& plugin, const PluginStamp& program = own_stamp());

}  // namespace runner
