#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runner/plugins/stamp.hpp"

namespace runner {

// Reads the stamp from a plugin's file without executing any of its code; nullopt for a valid shared library
// without a stamp. Throws PluginError if the file is broken or not a shared library for this machine.
std::optional<PluginStamp> read_stamp(const std::filesystem::path& file);

// Why the plugin is not compatible with this program, as the end of a sentence; empty if it is.
std::string misfit(const PluginStamp& plugin, const PluginStamp& program = own_stamp());

}  // namespace runner
