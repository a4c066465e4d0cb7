#include "runner/checkpoint/checkpoint_among_files.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr const char* manifest_file = "manifest.json";

bool is_there(const fs::path& path) { return fs::exists(fs::symlink_status(path)); }

// The files of the checkpoint in the folder; none if there is no checkpoint.
std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> files;
  if (!holds_checkpoint(folder)) return files;
  const nlohmann::json manifest = read_manifest(folder);
  for (const auto& [name, entry] : manifest.at("files").items()) {
    if (!is_inside(name))
      throw std::runtime_error((folder / manifest_file).string() + " names a file outside the checkpoint.");
    files.insert(name);
  }
  return files;
}

void move_file(const fs::path& from, const fs::path& to) {
  std::error_code problem;
  fs::create_directories(to.parent_path(), problem);
  if (!problem) fs::rename(from, to, problem);
  if (problem) throw IoError("Cannot write " + to.string() + ": " + problem.message() + ".");
}

void remove_file(const fs::path& folder, const std::string& name) {
  std::error_code ignored;  // what cannot be removed does no harm: no manifest lists it
  fs::remove(folder / name, ignored);
  for (fs::path parent = fs::path(name).parent_path(); !parent.empty(); parent = parent.parent_path())
    if (!fs::remove(folder / parent, ignored)) break;  // only empty folders
}

void finish_move(const fs::path& folder) {
  const fs::path staged = staged_among_files(folder);
  if (is_there(staged / manifest_file)) {
    const std::set<std::string> before = files_in(folder), after = files_in(staged);
    for (const std::string& name : after)
      if (is_there(staged / name) && is_there(folder / name) && !before.contains(name)) {
        fs::remove_all(staged);
        throw IoError((folder / name).string() +
                      " belongs to no checkpoint and would be replaced: rename it, or save the state in a "
                      "folder of its own, such as " +
                      (folder / "state").string() + ".");
      }
    for (const std::string& name : after)
      if (is_there(staged / name)) move_file(staged / name, folder / name);
    for (const std::string& name : before)
      if (!after.contains(name)) remove_file(folder, name);
    flush_folder(folder);
    move_file(staged / manifest_file, folder / manifest_file);
    flush_folder(folder);
  }
  std::error_code ignored;
  fs::remove_all(staged, ignored);
}

}  // namespace

fs::path staged_among_files(const fs::path& folder) { return folder / ".saved-state"; }

bool holds_checkpoint(const fs::path& folder) {
  if (!is_there(folder / manifest_file)) return false;
  read_manifest(folder);
  return true;
}

void refuse_files_of_checkpoint(const fs::path& folder,
                                const std::function<bool(const std::string&)>& is_replaced) {
  for (const std::string& name : files_in(folder))
    if (is_replaced(name))
      throw IoError((folder / name).string() +
                    " belongs to a checkpoint, which would be damaged: use another folder.");
}

void write_among_files(const fs::path& folder, const Checkpoint& checkpoint) {
  files_in(folder);  // a manifest of something else is not replaced
  TemporaryFolderBeside temporary(staged_among_files(folder));
  write_checkpoint(temporary, checkpoint);
  finish_move(folder);
}

void recover_among_files(const fs::path& folder) {
  if (is_there(staged_among_files(folder))) finish_move(folder);
}

}  // namespace runner
