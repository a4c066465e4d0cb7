#include "runner/check/borrowed_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace runner {

namespace fs = std::filesystem;

BorrowedFolder::BorrowedFolder(const fs::path& where) : where_(fs::absolute(where).lexically_normal()) {
  if (!where_.has_filename()) where_ = where_.parent_path();  // "runs/"
  for (fs::path missing = where_; !fs::exists(missing); missing = missing.parent_path()) made_ = missing;
  fs::create_directories(where_);
  // The name is unique on all machines that share the folder.
  std::string pattern = (where_ / ".doctor-XXXXXX").string();
  if (!mkdtemp(pattern.data())) {
    const std::error_code reason(errno, std::system_category());
    remove_made();
    throw fs::filesystem_error("cannot make a folder", pattern, reason);
  }
  own_ = pattern;
}

BorrowedFolder::~BorrowedFolder() {
  std::error_code ignored;  // the check reports that a folder cannot be written
  fs::remove_all(own_, ignored);
  remove_made();
}

// A run may have started there meanwhile: only empty folders are removed.
void BorrowedFolder::remove_made() const {
  if (made_.empty()) return;
  std::error_code failed;
  for (fs::path each = where_; fs::remove(each, failed) && each != made_; each = each.parent_path()) continue;
}

}  // namespace runner
