#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cmath>
#include <system_error>

#include "components/support/io/atomic_file.hpp"
#include "components/support/io/folders.hpp"
#include "registry/byte_size.hpp"
#include "registry/log.hpp"
#include "runner/distributed/socket.hpp"
#include "runner/doctor/checks.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// The folder, made where it is not there yet, and then removed again with all that was made for it.
class BorrowedFolder {
 public:
  explicit BorrowedFolder(const fs::path& wanted) : path_(fs::absolute(wanted).lexically_normal()) {
    for (fs::path missing = path_; !fs::exists(missing); missing = missing.parent_path()) made_ = missing;
    fs::create_directories(path_);
    own_ = path_ / log::format(".doctor-{}", getpid());
    fs::create_directory(own_);
  }
  ~BorrowedFolder() {
    std::error_code ignored;  // a folder that cannot be written is what is being reported
    fs::remove_all(own_, ignored);
    if (!made_.empty()) fs::remove_all(made_, ignored);
  }
  BorrowedFolder(const BorrowedFolder&) = delete;
  BorrowedFolder& operator=(const BorrowedFolder&) = delete;

  const fs::path& path() const { return own_; }

 private:
  fs::path path_, made_, own_;
};

void require_locks(const fs::path& file) {
  const FileDescriptor opened(open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened || flock(opened.number(), LOCK_EX | LOCK_NB) != 0)
    throw std::system_error(errno, std::system_category(), "files cannot be locked");
}

}  // namespace

Finding check_folder(const fs::path& folder) {
  Finding finding{"run folder"};
  try {
    const BorrowedFolder borrowed(folder);
    const std::string content(std::size_t{8} << 20, 'x');
    const auto began = std::chrono::steady_clock::now();
    AtomicFile out(borrowed.path() / "file");
    out.write(content);
    out.commit();  // flushed, then renamed
    flush_folder(borrowed.path());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (fs::file_size(borrowed.path() / "file") != content.size())
      throw std::runtime_error("a file of 8 MiB is shorter when it is read again");
    point_link(borrowed.path() / "latest", "file");
    require_locks(borrowed.path() / "latest");
    const ByteSize free{fs::space(borrowed.path()).available};
    finding.detail =
        log::format("{}: written and flushed at {} MB/s, {} free", folder.string(),
                    std::round(static_cast<double>(content.size()) / 1e6 / seconds), approximately(free));
    constexpr std::uint64_t little = std::uint64_t{1} << 30;
    if (free.bytes < little) {
      finding.state = Finding::State::note;
      finding.remedy =
          "make room, or set run.dir to another disk: checkpoints of a large model take gigabytes";
    }
  } catch (const std::exception& error) {
    finding.state = Finding::State::problem;
    finding.detail = log::format("{}: {}", folder.string(), error.what());
    finding.remedy = "set run.dir to a folder that can be written, on a disk with room";
  }
  return finding;
}

}  // namespace runner
