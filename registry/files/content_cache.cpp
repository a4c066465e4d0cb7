#include "registry/files/content_cache.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "registry/base/log.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/file_lock.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/mapped_file.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

CachedBytes in_memory(std::vector<std::uint8_t> bytes) {
  const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  return {*owner, owner};
}

}  // namespace

CachedBytes ContentCache::get(const std::string& name, const Make& make) const {
  if (folder_.empty()) return in_memory(make());
  if (auto found = find(name)) return *found;
  const fs::path lock_file = folder_ / ("." + name + ".lock");
  std::unique_ptr<FileLock> lock;
  try {
    lock = std::make_unique<FileLock>(lock_file);
  } catch (const IoError& error) {
    log::warning("The cache {} cannot be used: {}", folder_.string(), error.what());
    return in_memory(make());
  }
  if (auto found = find(name)) return *found;  // another process was faster
  std::vector<std::uint8_t> bytes = make();
  try {
    keep(name, bytes);
  } catch (const IoError& error) {
    log::warning("Cannot add a file to the cache {}: {}", folder_.string(), error.what());
  }
  std::error_code ignored;
  fs::remove(lock_file, ignored);              // processes that wait for it find the file
  if (auto found = find(name)) return *found;  // mapped, so that all processes share its memory
  return in_memory(std::move(bytes));
}

std::optional<CachedBytes> ContentCache::find(const std::string& name) const {
  const fs::path path = folder_ / name;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  try {
    const auto file = std::make_shared<const MappedFile>(path);
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
    return CachedBytes{file->bytes(), file};
  } catch (const IoError&) {  // just removed, or not readable: it is created again
    return {};
  }
}

void ContentCache::keep(const std::string& name, std::span<const std::uint8_t> bytes) const {
  if (bytes.empty() || bytes.size() > most_bytes_) return;
  AtomicFile out(folder_ / name);
  out.write(std::as_bytes(bytes));
  out.commit();
  remove_oldest(name);
}

// A process that has a removed file mapped can still read it. Killed processes leave unfinished files if the
// file system needs names for them; no process writes to the same one for a day.
void ContentCache::remove_oldest(const std::string& except) const {
  std::vector<std::tuple<fs::file_time_type, std::uintmax_t, fs::path>> files;
  std::uintmax_t all = 0;
  const auto yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".")) {
      const fs::file_time_type written = entry.last_write_time(ignored);
      if (!ignored && !name.ends_with(".lock") && written < yesterday) fs::remove(entry.path(), ignored);
      continue;
    }
    const std::uintmax_t size = entry.file_size(ignored);
    if (ignored) continue;  // another process has removed it
    all += size;
    if (name != except) files.emplace_back(entry.last_write_time(ignored), size, entry.path());
  }
  std::ranges::sort(files);
  for (const auto& [time, size, path] : files) {
    if (all <= most_bytes_) return;
    if (fs::remove(path, ignored)) all -= size;
  }
}

}  // namespace runner
