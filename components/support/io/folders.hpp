#pragma once

#include <filesystem>

namespace runner {

// Flushes the entries of a folder to the disk. A file system that cannot flush folders is no reason to fail.
void flush_folder(const std::filesystem::path& folder);
void flush_file(const std::filesystem::path& file);

// A folder that is there complete or not at all: filled under another name beside it, flushed and then
// renamed. A folder of that name is replaced in one step; where the file system cannot do that, the old one
// waits under another name meanwhile. Destroyed before commit(), it leaves nothing. Errors are IoError.
class TemporaryFolderBeside {
 public:
  explicit TemporaryFolderBeside(std::filesystem::path final_path);
  ~TemporaryFolderBeside();
  TemporaryFolderBeside(const TemporaryFolderBeside&) = delete;
  TemporaryFolderBeside& operator=(const TemporaryFolderBeside&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void commit();

  // What the names of unfinished ones begin with.
  static constexpr const char* prefix = ".unfinished-";

 private:
  void replace();

  std::filesystem::path final_;
  std::filesystem::path path_;  // what the destructor removes: the unfinished folder, or the one it replaced
};

// Removes what a crash left of such folders, and gives those that were being replaced their name back.
void clear_unfinished_folders(const std::filesystem::path& folder);

// Makes `path` another name of the file, or a copy where the file system has no such names, in one step.
void replace_by_link(const std::filesystem::path& path, const std::filesystem::path& file);

// Makes `link` lead to `target`, replacing what it led to in one step. A folder of that name is put aside.
void point_link(const std::filesystem::path& link, const std::filesystem::path& target);

}  // namespace runner
