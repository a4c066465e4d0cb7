#include "runner/runs/run_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "registry/base/log.hpp"
#include "registry/base/machine.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/file_lock.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"
#include "runner/runs/own_files.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view lock_name = ".lock";
constexpr std::string_view temporary_prefix = "runner-", temporary_name = "runner-XXXXXX";

// How long to wait for a lock that another process may hold for a moment only: 0.3 s.
constexpr int lock_attempts = 30;
constexpr std::chrono::milliseconds lock_pause{10};

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return text;
}

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw std::runtime_error("cannot use the run folder " + path.string() + ": " + why +
                           "; set run.dir to a folder that can be written");
}

// False if the folder already exists: two runs that start in the same second must not share one.
bool make_new(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) fail(path, error.message());
  const bool made = fs::create_directory(path, error);
  if (error) fail(path, error.message());
  return made;
}

fs::path make_numbered(const fs::path& wanted) {
  fs::path path = wanted;
  for (int attempt = 2; !make_new(path); ++attempt) path = wanted.string() + "-" + std::to_string(attempt);
  return path;
}

// Files that a run writes before its recipe.toml. A start that was interrupted leaves nothing else.
bool left_by_a_start(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == lock_name || name == "plugins" || name == "plugins.json" || name == start_note ||
         name.starts_with(".plugins.json.") || name.starts_with(".recipe.toml.") ||
         name.starts_with("." + std::string(start_note) + ".");
}

bool holds_nothing(const fs::path& path) {
  return std::ranges::all_of(fs::directory_iterator(path),
                             [](const auto& entry) { return left_by_a_start(entry.path()); });
}

// Removes what killed processes of this user have left. Younger ones stay, because a process may just be
// starting there.
void remove_abandoned(const fs::path& parent) {
  constexpr std::chrono::minutes starting{1};
  std::error_code ignored;  // what cannot be read or removed does no harm
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const fs::path path = entry.path(), lock = path / lock_name;
    struct stat status{};
    if (path.filename().string().size() != temporary_name.size() ||
        !path.filename().string().starts_with(temporary_prefix) || ::lstat(path.c_str(), &status) != 0 ||
        !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
      continue;
    long process = 0;
    std::string host, started;
    std::ifstream note(lock);  // a folder of another program has none
    if (!(note >> process >> host >> started) || host != host_name()) continue;
    if (fs::file_time_type::clock::now() - fs::last_write_time(lock, ignored) < starting) continue;
    if (FileLock::state_of(lock) == FileLock::State::free) fs::remove_all(path, ignored);
  }
}

}  // namespace

class RunFolder::Lock {
 public:
  explicit Lock(const fs::path& folder) : lock_(take(folder)) {
    const auto other = lock_ && lock_->held() ? std::nullopt : owner(folder);
    if (!lock_ || other)
      throw std::runtime_error(
          "the run folder " + folder.string() + " is in use" +
          (other ? " by process " + std::to_string(other->pid) + " on " + other->host : "") +
          ": only one process may write to a run folder");
    if (!lock_->held())
      log::warning(
          "{} is on a file system without locks: make sure that no other process writes to this run folder.",
          folder.string());
    // For messages and for file systems without locks; the lock itself does not depend on it.
    lock_->note(log::format("{} {} {}\n", ::getpid(), host_name(), process_start("self")));
  }
  ~Lock() { lock_->note(""); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  // Retries, because owner() of another process takes the lock for a moment.
  static std::unique_ptr<FileLock> take(const fs::path& folder) {
    try {
      require_own_files(folder);
      auto lock = FileLock::try_lock(folder / lock_name);
      for (int attempt = 0; !lock && attempt < lock_attempts; ++attempt) {
        std::this_thread::sleep_for(lock_pause);
        lock = FileLock::try_lock(folder / lock_name);
      }
      return lock;
    } catch (const IoError& error) {
      const std::string_view why = error.what();
      fail(folder, std::string(why.substr(0, why.find_last_not_of('.') + 1)));
    }
  }

  std::unique_ptr<FileLock> lock_;
};

RunFolder::RunFolder(fs::path path, bool temporary)
    : path_(std::move(path)), temporary_(temporary), lock_(std::make_unique<Lock>(path_)) {
  for (const fs::path& folder : {path_, path_ / "best"}) clear_leftovers(folder);
}

std::optional<RunFolder::Owner> RunFolder::owner(const fs::path& path) {
  for (int attempt = 0; attempt < lock_attempts; ++attempt) {
    const FileLock::State state = FileLock::state_of(path / lock_name);
    if (state == FileLock::State::free) return std::nullopt;
    std::ifstream file(path / lock_name);
    Owner owner;
    std::string started;
    const bool complete = static_cast<bool>(file >> owner.pid >> owner.host >> started);
    if (complete && owner.host == host_name() && started == process_start(std::to_string(owner.pid)))
      return owner;
    // Without locks, nobody can tell whether a process of another machine still runs.
    if (state == FileLock::State::unknown) return std::nullopt;
    if (complete && owner.host != host_name()) return owner;
    std::this_thread::sleep_for(lock_pause);  // the process may not have written the note yet
  }
  return std::nullopt;
}

std::optional<RunFolder> RunFolder::find(const RunSection& run) {
  std::error_code error;
  if (!run.dir || !fs::exists(*run.dir, error)) {
    if (error) fail(*run.dir, error.message());
    return std::nullopt;
  }
  if (!fs::is_directory(*run.dir)) fail(*run.dir, "it is not a folder");
  if (fs::exists(*run.dir / "recipe.toml")) return RunFolder(*run.dir, false);
  if (holds_nothing(*run.dir)) return std::nullopt;
  throw std::runtime_error("the folder " + run.dir->string() +
                           " is not empty, and what it holds is not a run; choose another run.dir");
}

RunFolder RunFolder::open(const fs::path& path) { return {path, false}; }

RunFolder RunFolder::create(const RunSection& run) {
  if (run.dir) {
    make_new(fs::absolute(*run.dir).lexically_normal());
    RunFolder folder(*run.dir, false);
    if (!holds_nothing(*run.dir)) {
      throw std::runtime_error("the run folder " + run.dir->string() +
                               " is not empty, and a run never overwrites another; choose another run.dir");
    }
    return folder;
  }
  RunFolder folder(make_numbered(fs::path("runs") / run.name / time_stamp()), false);
  try {
    point_link(folder.path().parent_path() / "latest", folder.path().filename());
  } catch (const IoError& error) {  // a file system without links; the newest run is also found by its name
    log::warning("{} The run continues without this link.", error.what());
  }
  return folder;
}

RunFolder RunFolder::make_temporary() {
  remove_abandoned(temporary_folder());
  std::string pattern = (temporary_folder() / temporary_name).string();
  if (!mkdtemp(pattern.data())) fail(pattern, std::system_category().message(errno));
  return {pattern, true};
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, false)),
      lock_(std::move(other.lock_)) {}

RunFolder::~RunFolder() {
  std::error_code ignored;  // the system clears temporary files
  if (temporary_) fs::remove_all(path_, ignored);
}

void RunFolder::write(std::string_view name, std::string_view text) const {
  AtomicFile out(file(name));
  out.write(text);
  out.commit();
}

void RunFolder::require_there() const {
  std::error_code ignored;
  const fs::file_type type = fs::status(path_, ignored).type();
  // If the disk does not answer now, the folder may still be there: writing to it will tell.
  if (type == fs::file_type::directory || type == fs::file_type::none) return;
  throw std::runtime_error("the run folder " + path_.string() +
                           " was deleted or moved while the run was writing to it");
}

}  // namespace runner
