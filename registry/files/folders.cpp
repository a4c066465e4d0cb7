#include "registry/files/folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/open_file.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const char* what, const fs::path& path) {
  throw IoError("Cannot " + std::string(what) + " " + path.string() + ": " + last_system_error() + ".");
}

// Returns errno; 0: no error.
int flush(const fs::path& path, int flags) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (handle < 0) fail("open", path);
  const int problem = ::fsync(handle) == 0 ? 0 : errno;
  ::close(handle);
  errno = problem;
  return problem;
}

}  // namespace

void flush_folder(const fs::path& folder) {
  const int problem = flush(folder, O_DIRECTORY);
  if (problem != 0 && problem != EINVAL && problem != ENOTSUP) fail("flush the folder", folder);
}

void flush_file(const fs::path& file) {
  if (flush(file, 0) != 0) fail("flush", file);
}

namespace {

constexpr std::string_view replaced_prefix = ".replaced-";

// Where the old folder is kept while it is being replaced by the new one.
fs::path aside_of(const fs::path& folder) {
  return folder.parent_path() / (std::string(replaced_prefix) + folder.filename().string());
}

// A crash between the two renames leaves the old folder under this name only: restores its own name.
void put_back(const fs::path& aside, const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(aside, ignored) && !fs::exists(folder, ignored) &&
      ::rename(aside.c_str(), folder.c_str()) != 0)
    fail("rename to", folder);
}

// Whether this is the name of an unfinished folder for the final one: ".unfinished-state-4711" for "state".
bool is_unfinished(const std::string& name, const fs::path& final_path) {
  const std::string begin = TemporaryFolderBeside::prefix + final_path.filename().string() + "-";
  return name.starts_with(begin) && name.find_first_not_of("0123456789", begin.size()) == std::string::npos;
}

// Of processes that were killed: what they had not finished, and what they had replaced.
void remove_leftovers(const fs::path& final_path) {
  std::error_code ignored;  // what cannot be read or removed does no harm
  std::vector<fs::path> left;
  if (fs::exists(final_path, ignored)) left.push_back(aside_of(final_path));
  for (const auto& entry : fs::directory_iterator(final_path.parent_path(), ignored))
    if (is_unfinished(entry.path().filename().string(), final_path)) left.push_back(entry.path());
  for (const fs::path& path : left) fs::remove_all(path, ignored);
}

// NFS and some cluster file systems cannot exchange two names.
bool cannot_exchange(int problem) { return problem == EINVAL || problem == ENOSYS || problem == EOPNOTSUPP; }

}  // namespace

TemporaryFolderBeside::TemporaryFolderBeside(fs::path final_path)
    : final_(std::move(final_path)),
      path_(final_.parent_path() / (prefix + final_.filename().string() + "-" + std::to_string(::getpid()))) {
  recover_folder(final_);
  remove_leftovers(final_);
  if (::mkdir(path_.c_str(), 0777) != 0) fail("make the folder", path_);
}

TemporaryFolderBeside::~TemporaryFolderBeside() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void TemporaryFolderBeside::commit() {
  flush_folder(path_);
  if (::rename(path_.c_str(), final_.c_str()) == 0) {
    path_.clear();
  } else {
    if (errno != ENOTEMPTY && errno != EEXIST) fail("rename to", final_);
    replace();
  }
  flush_folder(final_.parent_path());
}

// A folder of that name exists: the two are exchanged, and the destructor removes the old one.
void TemporaryFolderBeside::replace() {
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, final_.c_str(), RENAME_EXCHANGE) == 0) return;
  if (!cannot_exchange(errno)) fail("rename to", final_);
  const fs::path aside = aside_of(final_);
  if (::rename(final_.c_str(), aside.c_str()) != 0) fail("rename", final_);
  if (::rename(path_.c_str(), final_.c_str()) != 0) {
    const int problem = errno;
    ::rename(aside.c_str(), final_.c_str());
    errno = problem;
    fail("rename to", final_);
  }
  path_ = aside;
}

void recover_folder(const fs::path& final_path) { put_back(aside_of(final_path), final_path); }

void clear_unfinished_folders(const fs::path& folder) {
  std::error_code ignored;  // folders that cannot be removed do no harm
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) entries.push_back(entry.path());
  for (const fs::path& path : entries) {
    const std::string name = path.filename().string();
    if (name.starts_with(replaced_prefix)) put_back(path, folder / name.substr(replaced_prefix.size()));
    if (name.starts_with(replaced_prefix) || name.starts_with(TemporaryFolderBeside::prefix))
      fs::remove_all(path, ignored);
  }
}

fs::path temporary_folder() {
  std::error_code problem;
  fs::path folder = fs::temp_directory_path(problem);
  if (!problem) return folder;
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})  // the standard library takes the first one
    if (const char* value = std::getenv(name))
      throw IoError(std::string(name) + " is " + in_quotes(value) +
                    ", which is not a folder; set it to one that can be written.");
  throw IoError("/tmp is not a folder; set TMPDIR to one that can be written.");
}

namespace {

// A name like those of AtomicFile: after a crash, clear_leftovers() removes the file.
fs::path temporary_beside(const fs::path& path) {
  return path.parent_path() / ("." + path.filename().string() + "." + std::to_string(::getpid()) + "-0");
}

void rename_over(const fs::path& temporary, const fs::path& path) {
  const int problem = ::rename(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(temporary.c_str());  // if both were links to the same file, nothing was renamed
  errno = problem;
  if (problem != 0) fail("write", path);
  flush_folder(path.parent_path());
}

}  // namespace

void replace_by_link(const fs::path& path, const fs::path& file) {
  const fs::path temporary = temporary_beside(path);
  ::unlink(temporary.c_str());
  if (::link(file.c_str(), temporary.c_str()) != 0) {
    std::error_code problem;
    fs::copy_file(file, temporary, problem);
    if (problem) {
      ::unlink(temporary.c_str());
      errno = problem.value();
      fail("write", path);
    }
    flush_file(temporary);
  }
  rename_over(temporary, path);
}

namespace {

// In a copy of a run that was made without links (`cp -rL`), the link is a folder. It may be the only copy of
// its contents, so it is renamed, not removed.
void put_folder_aside(const fs::path& link) {
  std::error_code ignored;
  if (fs::is_symlink(link, ignored) || !fs::is_directory(link, ignored)) return;
  fs::path aside = link.string() + "-copy";
  for (int number = 2; fs::exists(aside, ignored); ++number)
    aside = link.string() + "-copy-" + std::to_string(number);
  if (::rename(link.c_str(), aside.c_str()) != 0) fail("rename", link);
  log::warning("{} was a folder, not a link; it is now called {}.", link.string(), aside.filename().string());
}

}  // namespace

void point_link(const fs::path& link, const fs::path& target) {
  put_folder_aside(link);
  const fs::path temporary = temporary_beside(link);
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) fail("write", link);
  rename_over(temporary, link);
}

}  // namespace runner
