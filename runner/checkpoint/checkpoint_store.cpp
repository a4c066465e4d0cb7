#include "runner/checkpoint/checkpoint_store.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "registry/base/byte_size.hpp"
#include "registry/base/log.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/read_json.hpp"
#include "runner/checkpoint/step_name.hpp"
#include "runner/process/failure.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view removed_prefix = ".removed-";

void require_room(const fs::path& folder, std::uint64_t bytes) {
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) return;
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t needed = bytes + bytes / 20 + (std::uint64_t{1} << 20);
  if (free >= needed) return;
  const auto [wanted, left] = distinguishable({needed}, {free});
  throw IoError("Not enough disk space for a checkpoint in " + folder.string() + ": " + wanted + " needed, " +
                left +
                " free. Existing checkpoints are kept. Make room, lower checkpoint.keep, or choose another "
                "run.dir.");
}

// FAT and some network file systems do not have them.
bool has_symbolic_links(const fs::path& folder) {
  const fs::path trial = folder / ".latest-trial";  // clear_leftovers() removes it after a crash
  std::error_code problem, ignored;
  fs::remove(trial, ignored);
  fs::create_symlink("nowhere", trial, problem);
  fs::remove(trial, ignored);
  return problem != std::errc::operation_not_permitted && problem != std::errc::operation_not_supported &&
         problem != std::errc::function_not_supported;
}

}  // namespace

fs::path CheckpointStore::path_of(std::int64_t step) const { return folder_ / step_name(step); }

std::vector<fs::path> CheckpointStore::all() const {
  std::vector<std::int64_t> steps;
  std::error_code problem;
  // Any other name is the user's: a copy called step-00000100-good is neither resumed from nor deleted.
  for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end;
       entry.increment(problem))
    if (const auto step = step_of_name(entry->path().filename().string())) steps.push_back(*step);
  // A link to a disk that is not mounted now is there, too: the run must not start over.
  std::error_code unknown;
  if (problem && fs::symlink_status(folder_, unknown).type() != fs::file_type::not_found)
    throw IoError("Cannot read the folder " + folder_.string() + ": " + problem.message() + ".");
  std::ranges::sort(steps, std::greater<>{});
  std::vector<fs::path> found;
  for (const std::int64_t step : steps) found.push_back(path_of(step));
  return found;
}

std::unique_ptr<TemporaryFolderBeside> CheckpointStore::begin(std::int64_t step, std::uint64_t bytes) const {
  fs::create_directory(folder_);  // not create_directories: a deleted run folder is not created again
  require_room(folder_, bytes);
  return std::make_unique<TemporaryFolderBeside>(path_of(step));
}

bool CheckpointStore::is_kept(std::int64_t step) const {
  try {
    return read_summary(path_of(step)).kept;
  } catch (const std::exception& error) {
    // One that is missing or damaged is replaced as a whole; one that cannot be read now may be kept.
    return !is_about_checkpoint(error);
  }
}

void CheckpointStore::write(TemporaryFolderBeside& folder, const Checkpoint& checkpoint,
                            const CheckpointSettings& settings, std::int64_t keep, const WaitOptions& wait,
                            const std::set<fs::path>& damaged) const {
  const fs::path path = path_of(checkpoint.step);
  flush_folder(folder_.parent_path());  // the entry of the new folder has to be on disk, too
  write_checkpoint(folder, checkpoint, settings, wait);
  point_latest_to(path);
  prune(path, keep, damaged);
}

void CheckpointStore::point_latest_to(const fs::path& checkpoint) const {
  const fs::path latest = folder_ / "latest";
  std::error_code not_a_link;
  if (fs::read_symlink(latest, not_a_link) == checkpoint.filename()) return;
  try {
    point_link(latest, checkpoint.filename());
  } catch (const IoError& error) {
    if (has_symbolic_links(folder_)) throw;
    // Resuming finds the newest checkpoint by its name. Once is enough: every checkpoint comes here.
    const std::string text = std::string(error.what()) + " The run continues without this link.";
    const auto told = log::warnings();
    if (std::ranges::find(told, text) == told.end()) log::warning("{}", text);
  }
}

void CheckpointStore::prune(const fs::path& newest, std::int64_t keep,
                            const std::set<fs::path>& damaged) const {
  std::int64_t complete = 0;
  for (const fs::path& old : all()) {
    try {
      const bool kept = read_summary(old).kept;
      if (damaged.contains(old)) {
        if (kept) continue;
        throw std::runtime_error("The checkpoint " + old.string() + " is damaged.");
      }
      if (++complete > keep && !kept && old != newest) remove(old);
    } catch (const OtherFormat&) {
      // It may be complete for the version that wrote it.
    } catch (const std::exception& error) {
      if (!is_about_checkpoint(error)) {
        // The next checkpoint tries again to find out whether this one is kept.
        log::warning("The old checkpoint {} is not deleted, because it cannot be read now: {}", old.string(),
                     failure_text(error));
        continue;
      }
      if (complete < keep) continue;
      log::warning("{} It is deleted, like other old checkpoints.", error.what());
      remove(old);
    }
  }
}

void CheckpointStore::remove(const fs::path& old) const {
  // Renamed first, so that what a crash leaves of it does not look like a checkpoint.
  const fs::path gone = folder_ / (std::string(removed_prefix) + old.filename().string());
  std::error_code problem;
  fs::remove_all(gone, problem);
  fs::rename(old, gone, problem);
  if (!problem) fs::remove_all(gone, problem);
  if (problem) log::warning("Cannot delete the old checkpoint {}: {}.", old.string(), problem.message());
}

void CheckpointStore::adopt_copy_of_latest() const {
  const fs::path latest = folder_ / "latest";
  std::error_code problem;
  if (fs::is_symlink(latest, problem) || !fs::exists(latest / "manifest.json", problem)) return;
  try {
    const fs::path own = path_of(read_summary(latest).step);
    if (!fs::exists(own)) {
      fs::rename(latest, own);
    } else if (const std::string damage = damage_of(own); !damage.empty()) {  // copying was broken off
      if (!damage_of(latest).empty()) return;
      log::warning("{} is damaged: {}. It is replaced by its copy {}.", own.string(), damage,
                   latest.filename().string());
      remove(own);
      fs::rename(latest, own);
    } else if (read_json_file(own / "manifest.json") == read_json_file(latest / "manifest.json")) {
      remove(latest);
      log::info("{} was a copy of {} and is deleted", latest.string(), own.filename().string());
    } else {
      return;
    }
    point_latest_to(own);
  } catch (const std::exception& error) {
    log::warning("{} is not a link, but a folder, and cannot be used: {}", latest.string(), error.what());
  }
}

void CheckpointStore::clear_leftovers() const {
  clear_unfinished_folders(folder_);
  adopt_copy_of_latest();
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(removed_prefix) || name.starts_with(".latest")) fs::remove_all(entry.path(), none);
  }
}

}  // namespace runner
