#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cmath>
#include <system_error>

#include "registry/base/byte_size.hpp"
#include "registry/base/log.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/folders.hpp"
#include "runner/check/borrowed_folder.hpp"
#include "runner/check/checks.hpp"
#include "runner/ranks/socket.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

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
      throw std::runtime_error("a file of 8 MiB is shorter after it was written");
    point_link(borrowed.path() / "latest", "file");
    require_locks(borrowed.path() / "latest");
    const ByteSize free{fs::space(borrowed.path()).available};
    finding.detail =
        log::format("{}: written and flushed at {} MB/s, {} free", folder.string(),
                    std::round(static_cast<double>(content.size()) / 1e6 / seconds), approximately(free));
    constexpr std::uint64_t little = std::uint64_t{1} << 30;
    if (free.bytes < little) {
      finding.verdict = Finding::Verdict::note;
      finding.remedy =
          "make room, or set run.dir to another disk: checkpoints of a large model take gigabytes";
    }
  } catch (const std::exception& error) {
    finding.verdict = Finding::Verdict::problem;
    finding.detail = log::format("{}: {}", folder.string(), error.what());
    finding.remedy = "set run.dir to a folder that can be written, on a disk with room";
  }
  return finding;
}

}  // namespace runner
