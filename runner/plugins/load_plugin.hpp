#pragma once

#include <filesystem>

namespace runner {

// Loads a plugin that fits this program; what it registers is then in Registry::of_linked(). A file that is
// loaded already, here or as an equal copy elsewhere, is not loaded again. Throws PluginError; a crash while
// the plugin registers its components ends the program, which says the plugin's name.
void load_plugin(const std::filesystem::path& file);

}  // namespace runner
