#pragma once

#include <filesystem>

namespace runner {

// Flushes the entries of a folder to the disk. Does nothing if the file system cannot flush folders.
void flush_folder(const std::filesystem::path& folder);
void flush_file(const std::filesystem::path& file);

// A folder that exists completely or not at all: filled under a temporary name next to it, flushed and then
// renamed. An existing folder is replaced atomically; if the file system cannot do that, it is renamed first
// and then removed. Leaves nothing if destroyed before commit(), and removes what a process that was killed
// has left of the same folder. Throws IoError.
class TemporaryFolderBeside {
 public:
  explicit TemporaryFolderBeside(std::filesystem::path final_path);
  ~TemporaryFolderBeside();
  TemporaryFolderBeside(const TemporaryFolderBeside&) = delete;
  TemporaryFolderBeside& operator=(const TemporaryFolderBeside&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void commit();

  // The names of unfinished folders begin with this.
  static constexpr const char* prefix = ".unfinished-";

 private:
  void replace();

  std::filesystem::path final_;
  std::filesystem::path path_;  // what the destructor removes: the unfinished folder, or the one it replaced
};

// Removes unfinished folders left by a crash, and restores the names of folders that were being replaced.
void clear_unfinished_folders(const std::filesystem::path& folder);

// If a crash happened while this folder was being replaced, restores its name. Call it before reading one
// that a TemporaryFolderBeside has written.
void recover_folder(const std::filesystem::path& final_path);

// Where temporary files go: TMPDIR, or /tmp. Throws IoError if it is not a folder.
std::filesystem::path temporary_folder();

// Atomically replaces `path` by a hard link to the file, or by a copy if the file system has no hard links.
void replace_by_link(const std::filesystem::path& path, const std::filesystem::path& file);

// Atomically makes `link` a symbolic link to `target`. A folder with the name of the link is renamed.
void point_link(const std::filesystem::path& link, const std::filesystem::path& target);

// By its name.
inline bool is_hidden(const std::filesystem::path& path) { return path.filename().string().starts_with('.'); }

// True only if there is no such file. One that cannot be examined is not missing: opening it reports why.
inline bool is_missing(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found;
}

}  // namespace runner
