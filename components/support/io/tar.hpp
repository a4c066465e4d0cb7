#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace runner {

// Takes the regular files with these names out of a .tar or .tar.gz, from whatever folders they are in, into
// one folder. Nothing else in the archive is written anywhere: a path in it cannot lead out of the folder.
// Throws IoError if the archive is damaged, does not hold all of them, or they cannot be written.
void extract_tar(const std::filesystem::path& archive, const std::vector<std::string>& names,
                 const std::filesystem::path& into);

}  // namespace runner
