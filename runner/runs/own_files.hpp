#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "registry/files/open_file.hpp"

namespace runner {

// A run folder may come from anywhere, so what is in it must be its own: `runner trust path` names other
// places that links in it may lead to. The folder itself may be a link.

// Throws InputError if something below the folder is a link that leaves it, or a pipe or a device. Called
// before anything in the folder is written.
void require_own_files(const std::filesystem::path& run);

// A record of a run, such as metrics.jsonl, for reading; null if there is none. One that cannot be used, for
// example because it is a pipe or a link that leaves the folder, is skipped with a warning.
std::unique_ptr<OpenFile> open_record(const std::filesystem::path& file);

// The complete lines of such a record, and its whole text. What is too long is skipped with a warning.
void each_line(const std::filesystem::path& file, const std::function<void(std::string_view)>& take);
std::string text_of_record(const std::filesystem::path& file);

}  // namespace runner
