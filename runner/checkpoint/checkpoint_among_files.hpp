#pragma once

#include <filesystem>

#include "runner/checkpoint/checkpoint.hpp"

namespace runner {

// A checkpoint in a folder that may hold other files, which stay as they are. It is written completely into
// a hidden folder below, and then moved into place file by file, the manifest last. If a crash interrupts the
// move, recover_among_files() finishes it, so either the old or the new checkpoint can always be read.

// Where it is written first: a path below the folder for call_save_hooks() and TemporaryFolderBeside.
std::filesystem::path staged_among_files(const std::filesystem::path& folder);

// Throws IoError if the folder cannot take a checkpoint, and after writing one, if it would replace a file
// that belongs to no checkpoint; the folder is then unchanged.
void write_among_files(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// Call it before reading. Does nothing if there is nothing to finish.
void recover_among_files(const std::filesystem::path& folder);

// Whether the folder holds a checkpoint. Throws if there is a manifest that cannot be read.
bool holds_checkpoint(const std::filesystem::path& folder);
// Throws IoError if one of these files belongs to a checkpoint in the folder.
void refuse_files_of_checkpoint(const std::filesystem::path& folder,
                                const std::function<bool(const std::string&)>& is_replaced);

}  // namespace runner
