#include "runner/run_folder/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "components/support/io/atomic_file.hpp"
#include "components/support/io/folders.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view lock_name = ".lock";

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

// True if the folder was made now. Two runs that start in the same second must not share one.
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

// What a run writes before its recipe: a start that was cut short leaves no more.
bool left_by_a_start(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == lock_name || name.starts_with(".recipe.toml.");
}

bool holds_nothing(const fs::path& path) {
  return std::ranges::all_of(fs::directory_iterator(path),
                             [](const auto& entry) { return left_by_a_start(entry.path()); });
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

class RunFolder::Lock {
 public:
  explicit Lock(const fs::path& folder) : path_(folder / lock_name) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail(folder, std::system_category().message(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      ::close(descriptor_);
      const auto other = owner(folder);
      throw std::runtime_error(
          "the run folder " + folder.string() + " is in use" +
          (other ? " by process " + std::to_string(other->pid) + " on " + other->host : "") +
          ": only one process may write to a run folder");
    }
    const std::string text = std::to_string(::getpid()) + " " + host_name() + "\n";
    // Who holds it is for people to read; the lock itself does not depend on it.
    if (::ftruncate(descriptor_, 0) == 0) [[maybe_unused]]
      const auto written = ::pwrite(descriptor_, text.data(), text.size(), 0);
  }
  ~Lock() { ::close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  fs::path path_;
  int descriptor_ = -1;
};

RunFolder::RunFolder(fs::path path, bool temporary)
    : path_(std::move(path)), temporary_(temporary), lock_(std::make_unique<Lock>(path_)) {
  for (const fs::path& folder : {path_, path_ / "best"}) clear_leftovers(folder);
}

std::optional<RunFolder::Owner> RunFolder::owner(const fs::path& path) {
  const int descriptor = ::open((path / lock_name).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const bool free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  ::close(descriptor);
  if (free) return std::nullopt;
  std::ifstream file(path / lock_name);
  Owner owner;
  if (!(file >> owner.pid >> owner.host)) return std::nullopt;
  return owner;
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
  point_link(folder.path().parent_path() / "latest", folder.path().filename());
  return folder;
}

RunFolder RunFolder::make_temporary() {
  std::string pattern = (fs::temp_directory_path() / "runner-dry-run-XXXXXX").string();
  if (!mkdtemp(pattern.data())) fail(pattern, std::system_category().message(errno));
  return {pattern, true};
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, false)),
      lock_(std::move(other.lock_)) {}

RunFolder::~RunFolder() {
  std::error_code ignored;  // what is left in the temporary folder is the system's to clear
  if (temporary_) fs::remove_all(path_, ignored);
}

void RunFolder::write(std::string_view name, std::string_view text) const {
  AtomicFile out(file(name));
  out.write(text);
  out.commit();
}

void RunFolder::require_there() const {
  std::error_code ignored;
  if (fs::is_directory(path_, ignored)) return;
  throw std::runtime_error("the run folder " + path_.string() +
                           " was deleted or moved while the run was writing to it");
}

}  // namespace runner
