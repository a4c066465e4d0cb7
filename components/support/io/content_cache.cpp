#include "components/support/io/content_cache.hpp"

#include <algorithm>
#include <tuple>

#include "components/support/io/atomic_file.hpp"
#include "components/support/io/file_lock.hpp"
#include "components/support/io/io_error.hpp"
#include "components/support/io/mapped_file.hpp"
#include "registry/log.hpp"

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
    log::warning("Nothing is kept in the cache {}: {}", folder_.string(), error.what());
    return in_memory(make());
  }
  if (auto found = find(name)) return *found;  // another process was faster
  std::vector<std::uint8_t> bytes = make();
  try {
    keep(name, bytes);
  } catch (const IoError& error) {
    log::warning("A file is not kept in the cache {}: {}", folder_.string(), error.what());
  }
  std::error_code ignored;
  fs::remove(lock_file, ignored);              // who waits for it finds what was made
  if (auto found = find(name)) return *found;  // all processes share its memory
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
  } catch (const IoError&) {  // removed in this moment, or not readable: it is made again
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

// A process that has a removed file mapped can still read it.
void ContentCache::remove_oldest(const std::string& except) const {
  std::vector<std::tuple<fs::file_time_type, std::uintmax_t, fs::path>> files;
  std::uintmax_t all = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    if (entry.path().filename().string().starts_with(".")) continue;
    const std::uintmax_t size = entry.file_size(ignored);
    if (ignored) continue;  // another process has removed it
    all += size;
    if (entry.path().filename() != except)
      files.emplace_back(entry.last_write_time(ignored), size, entry.path());
  }
  std::ranges::sort(files);
  for (const auto& [time, size, path] : files) {
    if (all <= most_bytes_) return;
    if (fs::remove(path, ignored)) all -= size;
  }
}

}  // namespace runner
