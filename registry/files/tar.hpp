#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace runner {

// Extracts the regular files with these names from a .tar or .tar.gz into one folder, whatever folders they
// are in. Nothing else is written, and the paths in the archive are not used, so they cannot lead out of the
// folder. Throws IoError if the archive is damaged or does not contain all of them with exactly these sizes,
// or if they cannot be written.
void extract_tar(const std::filesystem::path& archive, const std::map<std::string, std::size_t>& sizes,
                 const std::filesystem::path& into);

}  // namespace runner
