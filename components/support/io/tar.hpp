#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace runner {

// Takes the regular files with these names out of a .tar or .tar.gz, from whatever folders they are in, into
// one folder. Nothing else in the archive is written anywhere: a path in it cannot lead out of the folder.
// Throws IoError if the archive is damaged, does not hold all of them with just these sizes, or they cannot
// be written.
void extract_tar(const std::filesystem::path& archive, const std::map<std::string, std::size_t>& sizes,
                 const std::filesystem::path& into);

}  // namespace runner
