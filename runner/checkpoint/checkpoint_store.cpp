#include "runner/checkpoint/checkpoint_store.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdio>

#include "components/support/io/folders.hpp"
#include "components/support/io/io_error.hpp"
#include "registry/byte_size.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "step-";
constexpr std::string_view removed_prefix = ".removed-";

std::uint64_t size_of(const Checkpoint& checkpoint) {
  std::uint64_t bytes = 0;
  for (const auto& [name, state] : checkpoint.states) bytes += static_cast<std::uint64_t>(state.bytes());
  return bytes;
}

void require_room(const fs::path& folder, std::uint64_t bytes) {
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) return;
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t needed = bytes + bytes / 20 + (std::uint64_t{1} << 20);
  if (free >= needed) return;
  throw IoError("A checkpoint needs " + approximately({needed}) + " in " + folder.string() + ", and " +
                approximately({free}) +
                " are free; what is there is kept. Make room, lower checkpoint.keep, or choose "
                "another run.dir.");
}

}  // namespace

fs::path CheckpointStore::path_of(std::int64_t step) const {
  char text[32];
  std::snprintf(text, sizeof text, "step-%08lld", static_cast<long long>(step));
  return folder_ / text;
}

std::vector<fs::path> CheckpointStore::all() const {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && fs::exists(entry.path() / "manifest.json")) found.push_back(entry.path());
  }
  const auto number = [](const fs::path& path) {
    return std::strtoll(path.filename().c_str() + prefix.size(), nullptr, 10);
  };
  std::ranges::sort(found, std::greater<>{}, number);
  return found;
}

void CheckpointStore::write(const Checkpoint& checkpoint, const CheckpointSettings& settings,
                            std::int64_t keep,
                            const std::function<bool(const CheckpointSummary&)>& keeps) const {
  fs::create_directories(folder_);
  require_room(folder_, size_of(checkpoint));
  const fs::path path = path_of(checkpoint.step);
  const auto remove = [&](const fs::path& old) {
    // Renamed first: what is left of it after a crash does not look like a checkpoint.
    const fs::path gone = folder_ / (std::string(removed_prefix) + old.filename().string());
    std::error_code problem;
    fs::remove_all(gone, problem);
    fs::rename(old, gone, problem);
    fs::remove_all(gone, problem);
  };
  write_checkpoint(path, checkpoint, settings);
  point_link(folder_ / "latest", path.filename());

  const std::vector<fs::path> newest_first = all();
  for (std::size_t i = static_cast<std::size_t>(keep); i < newest_first.size(); ++i) {
    const fs::path& old = newest_first[i];
    if (old != path && !keeps(read_summary(old))) remove(old);
  }
}

void CheckpointStore::clear_leftovers() const {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(TemporaryFolderBeside::prefix) || name.starts_with(removed_prefix) ||
        name.starts_with(".latest-"))
      fs::remove_all(entry.path(), none);
  }
}

}  // namespace runner
