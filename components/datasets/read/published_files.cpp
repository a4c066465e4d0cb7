#include "components/datasets/read/published_files.hpp"

#include <cstdlib>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/download.hpp"
#include "registry/files/file_lock.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/sha256.hpp"
#include "registry/files/tar.hpp"
#include "registry/resolve_path.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

std::string file_list(const PublishedFiles& published) {
  std::vector<std::string> names;
  for (const PublishedFile& file : published.files) names.push_back(file.name);
  return joined(names);
}

bool is_present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// True if the folder has all of the files, false if it has none; throws if it has only some, or damaged ones.
bool complete(const PublishedFiles& published, const fs::path& folder) {
  std::vector<std::string> missing;
  for (const PublishedFile& file : published.files)
    if (!is_present(folder / file.name)) missing.push_back(file.name);
  if (missing.size() == published.files.size()) return false;
  if (!missing.empty()) {
    throw DataError(folder.string() + " holds only a part of " + published.title + ": " + joined(missing) +
                    " is missing. Unpack " + shown_url(published.url) + " there again.");
  }
  for (const PublishedFile& file : published.files) {
    std::error_code problem;
    const auto size = fs::file_size(folder / file.name, problem);
    if (problem)
      throw DataError("Cannot read " + (folder / file.name).string() + ": " + problem.message() + ".");
    if (size == file.size) continue;
    throw DataError((folder / file.name).string() + " has " + std::to_string(size) + " bytes instead of " +
                    std::to_string(file.size) + ": it is truncated, or not the file of " + published.title +
                    ". Unpack " + shown_url(published.url) + " there again.");
  }
  return true;
}

void verify(const PublishedFiles& published, const fs::path& folder) {
  for (const PublishedFile& file : published.files) {
    if (file.sha256.empty() || sha256_of_file(folder / file.name) == file.sha256) continue;
    throw IoError(file.name + " in the archive from " + shown_url(published.url) +
                  " is not the published file: its SHA-256 differs");
  }
}

// An archive is at most a little larger than its contents; it may also hold files that are not needed.
std::int64_t most_bytes(const PublishedFiles& published) {
  std::size_t sum = 64u << 20;
  for (const PublishedFile& file : published.files) sum += 2 * file.size;
  return static_cast<std::int64_t>(sum);
}

// Downloads and unpacks beside the target, then renames: the target is complete as soon as it exists.
void fetch(const PublishedFiles& published, const fs::path& target) {
  const fs::path place = target.parent_path(), archive = place / fs::path(published.url).filename();
  const fs::path unpacked = place / (published.folder + ".unpacking");
  const FileLock lock(place / ("." + published.folder + ".lock"));
  if (complete(published, target)) return;  // another process was faster
  std::error_code ignored;
  if (is_present(target) && !fs::is_empty(target, ignored)) {  // the last step, renaming, would fail
    throw DataError(target.string() + " exists, but has none of " + file_list(published) +
                    ". Remove it, or unpack " + shown_url(published.url) + " there.");
  }
  log::info("Downloading {} from {} to {}.", published.title, shown_url(published.url), target.string());
  download({.url = published.url,
            .target = archive,
            .most_bytes = most_bytes(published),
            .sha256 = published.sha256});
  try {
    fs::remove_all(unpacked);
    fs::create_directories(unpacked);
    std::map<std::string, std::size_t> sizes;
    for (const PublishedFile& file : published.files) sizes.emplace(file.name, file.size);
    extract_tar(archive, sizes, unpacked);
    verify(published, unpacked);
    fs::create_directories(place);
    fs::rename(unpacked, target);
  } catch (...) {
    fs::remove_all(unpacked, ignored);
    fs::remove(archive, ignored);
    throw;
  }
  fs::remove(archive, ignored);
}

}  // namespace

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && fs::path(cache).is_absolute()) return fs::path(cache) / "runner";
  const fs::path home = home_folder();
  return home.empty() ? home : home / ".cache" / "runner";
}

bool is_complete(const PublishedFiles& published, const fs::path& dir) {
  return complete(published, (dir.empty() ? cache_folder() : dir) / published.folder) ||
         (!dir.empty() && complete(published, dir));
}

fs::path find_or_fetch(const PublishedFiles& published, const fs::path& dir, bool download) {
  fs::path target = (dir.empty() ? cache_folder() : dir) / published.folder;
  if (complete(published, target)) return target;
  if (!dir.empty() && complete(published, dir)) return dir;
  // If `dir` has the name of the published folder, it is that folder, not the parent of another one.
  if (!dir.empty() && (dir / "").parent_path().filename() == published.folder)
    target = (dir / "").parent_path();

  const bool nowhere = dir.empty() && cache_folder().empty();
  std::string problem = download ? "" : "Downloading is switched off (download = false)";
  if (download && nowhere)
    problem =
        "There is no folder to download to: XDG_CACHE_HOME is not set, and this user has no home folder";
  if (problem.empty()) {
    try {
      fetch(published, target);
      return target;
    } catch (const IoError& error) {
      problem = error.what();
    } catch (const fs::filesystem_error& error) {
      problem = error.what();
    }
    while (problem.ends_with('.')) problem.pop_back();
  }
  throw DataMissing(published.title + " is not in " + (nowhere ? "any known folder" : target.string()) +
                    ". " + problem + ". Unpack " + shown_url(published.url) +
                    " and set dataset.dir to the folder that holds " + file_list(published) + ".");
}

}  // namespace runner
