#include "runner/run_folder/run_folder.hpp"

#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include "components/support/io/atomic_file.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

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

fs::path make_exact(const fs::path& path) {
  if (fs::exists(path) && !fs::is_directory(path)) fail(path, "it is not a folder");
  if (make_new(fs::absolute(path).lexically_normal())) return path;
  if (!fs::is_empty(path)) {
    throw std::runtime_error("the run folder " + path.string() +
                             " is not empty, and a run never writes over another; choose another run.dir");
  }
  return path;
}

}  // namespace

RunFolder RunFolder::create(const RunSection& run) {
  if (run.dir) return {make_exact(*run.dir), false};
  return {make_numbered(fs::path("runs") / run.name / time_stamp()), false};
}

RunFolder RunFolder::make_temporary() {
  std::string pattern = (fs::temp_directory_path() / "runner-dry-run-XXXXXX").string();
  if (!mkdtemp(pattern.data())) fail(pattern, std::system_category().message(errno));
  return {pattern, true};
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, false)) {}

RunFolder::~RunFolder() {
  std::error_code ignored;  // what is left in the temporary folder is the system's to clear
  if (temporary_) fs::remove_all(path_, ignored);
}

void RunFolder::write(std::string_view name, std::string_view text) const {
  AtomicFile out(file(name));
  out.write(text);
  out.commit();
}

}  // namespace runner
