#pragma once

#include <filesystem>

namespace runner {

// A new folder within another, which is made if it does not exist. In the end, removes its own folder, and of
// those that it made, the ones that nobody else uses by then.
class BorrowedFolder {
 public:
  explicit BorrowedFolder(const std::filesystem::path& where);
  ~BorrowedFolder();
  BorrowedFolder(const BorrowedFolder&) = delete;
  BorrowedFolder& operator=(const BorrowedFolder&) = delete;

  const std::filesystem::path& path() const { return own_; }

 private:
  void remove_made() const;

  std::filesystem::path where_, made_, own_;  // `made_`: the uppermost folder that was missing
};

}  // namespace runner
