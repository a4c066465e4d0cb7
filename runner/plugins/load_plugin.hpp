#pragma once

#include <filesystem>

namespace runner {

// Loads a file that fits this program; what it registers is then in Registry::of_linked(). A file that is
// loaded already, here or as an equal copy elsewhere, is left alone. Throws PluginError; a crash while the
// plugin registers ends the program with its name.
void load_plugin(const std::filesystem::path& file);

}  // namespace runner
