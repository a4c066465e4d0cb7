#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace runner {

// Opens a file below a folder that may come from anywhere, as open(2) does: no link on the way leads out of
// the folder, which itself may be a link. Returns -1 if it cannot be opened; errno is EXDEV or ELOOP if a
// link leaves the folder.
int open_beneath(const std::filesystem::path& folder, const std::filesystem::path& name, int flags,
                 mode_t mode = 0666);

// Whether errno says that open_beneath() met a link that leaves the folder.
bool left_the_folder(int problem);

// Where a path leads, with all links followed, also those to what does not exist: writing through such a link
// would create it there. Nothing for links in a circle.
std::optional<std::filesystem::path> goal_of(const std::filesystem::path& path);

}  // namespace runner
