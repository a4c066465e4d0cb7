#include "components/support/io/folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "components/support/io/open_file.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const char* what, const fs::path& path) {
  throw IoError("Cannot " + std::string(what) + " " + path.string() + ": " + last_system_error() + ".");
}

}  // namespace

void flush_folder(const fs::path& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) fail("open the folder", folder);
  const int result = ::fsync(handle);
  const int problem = errno;
  ::close(handle);
  errno = problem;
  if (result != 0 && problem != EINVAL && problem != ENOTSUP) fail("flush the folder", folder);
}

TemporaryFolderBeside::TemporaryFolderBeside(fs::path final_path)
    : final_(std::move(final_path)),
      path_(final_.parent_path() / (prefix + final_.filename().string() + "-" + std::to_string(::getpid()))) {
  std::error_code ignored;  // of an earlier attempt of a process with the same number
  fs::remove_all(path_, ignored);
  if (::mkdir(path_.c_str(), 0777) != 0) fail("make the folder", path_);
}

TemporaryFolderBeside::~TemporaryFolderBeside() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(path_, ignored);  // after an exchange, what stood there before
}

void TemporaryFolderBeside::commit() {
  flush_folder(path_);
  if (::rename(path_.c_str(), final_.c_str()) == 0) {
    committed_ = true;
  } else {
    // A folder of that name is there: the two change places in one step, and the old one goes.
    const bool taken = errno == ENOTEMPTY || errno == EEXIST;
    if (!taken || ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, final_.c_str(), RENAME_EXCHANGE) != 0)
      fail("rename to", final_);
  }
  flush_folder(final_.parent_path());
}

void point_link(const fs::path& link, const fs::path& target) {
  const fs::path temporary =
      link.parent_path() / ("." + link.filename().string() + "-" + std::to_string(::getpid()));
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) fail("write", link);
  if (::rename(temporary.c_str(), link.c_str()) != 0) {
    const int problem = errno;
    ::unlink(temporary.c_str());
    errno = problem;
    fail("write", link);
  }
  flush_folder(link.parent_path());
}

}  // namespace runner
