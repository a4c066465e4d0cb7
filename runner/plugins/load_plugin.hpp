#pragma once

#include <filesystem>

namespace runner {

// Loads a compatible plugin; its components are then in Registry::of_linked(). A file that is already loaded,
// also as an identical copy elsewhere, is not loaded again. Throws PluginError. If the plugin crashes while
// it registers its components, the program ends with a message that names the plugin.
void load_plugin(const std::filesystem::path& file);

}  // namespace runner
