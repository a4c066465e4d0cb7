#pragma once

#include <filesystem>

namespace runner {

// Loads a compatible plugin; its components are then in Registry::of_linked(). A file is not loaded again if
// it, or an identical copy of it, is already loaded. Throws PluginError. If the plugin crashes while
// it registers its components, the program ends with a message that names the plugin.
void load_plugin(const std::filesystem::path& file);

}  // namespace runner
