#pragma once

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "registry/base/wording.hpp"
#include "runner/plugins/stamp.hpp"

namespace runner {

// Reads the stamp from a plugin's file without executing any of its code; nullopt for a valid shared library
// without a stamp. Throws PluginError if the file is broken or not a shared library for this machine.
std::optional<PluginStamp> read_stamp(const std::filesystem::path& file);

// The text in a field of a stamp, which may lack its terminating zero or hold anything.
template <std::size_t capacity>
std::string stamp_text(const char (&field)[capacity]) {
  return escaped_name({field, strnlen(field, capacity)});
}

// Why the plugin is not compatible with this program, as the end of a sentence; empty if it is.
std::string misfit(const PluginStamp& plugin, const PluginStamp& program = own_stamp());

}  // namespace runner
