#include "runner/plugins/load_plugin.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <deque>
#include <optional>

#include "registry/files/sha256.hpp"
#include "registry/registry.hpp"
#include "runner/plugins/plugin_error.hpp"
#include "runner/plugins/read_stamp.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// While it exists, a crash or a call of exit() prints which plugin caused it before the program ends.
class CrashNotice {
 public:
  explicit CrashNotice(const std::string& path)
      : crashed_("runner: error: the plugin " + path + " crashed while being loaded\n"),
        exited_("runner: error: the plugin " + path + " ended the program while being loaded\n") {
    [[maybe_unused]] static const int registered = std::atexit([] {
      if (current_) say(current_->exited_);
    });
    current_ = this;
    struct sigaction action{};
    action.sa_handler = [](int signal) {
      say(current_->crashed_);
      ::raise(signal);
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &action, &before_[i]);
  }
  ~CrashNotice() {
    current_ = nullptr;
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  CrashNotice(const CrashNotice&) = delete;
  CrashNotice& operator=(const CrashNotice&) = delete;

 private:
  static void say(const std::string& text) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  static constexpr std::array signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  static inline const CrashNotice* current_ = nullptr;  // for the handlers, which take no argument

  std::string crashed_, exited_;
  std::array<struct sigaction, signals.size()> before_{};
};

// Removes the path at the start of a message of dlopen: ours already has it.
std::string reason_of(std::string text, const fs::path& file) {
  const std::string prefix = file.string() + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

void open_library(const fs::path& file) {
  const CrashNotice notice(file.string());
  // dlopen is declared noexcept, but exceptions of the plugin's static initialisers pass through it.
  void* (*volatile open)(const char*, int) = &dlopen;
  try {
    if (open(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return;
  } catch (const std::exception& error) {
    throw PluginError("the plugin " + file.string() +
                      " failed while registering its components: " + error.what());
  } catch (...) {
    throw PluginError("the plugin " + file.string() + " threw an exception while registering its components");
  }
  const char* said = dlerror();
  throw PluginError("the plugin " + file.string() + " cannot be loaded: " + reason_of(said ? said : "", file),
                    {"build it again against this runner: runner plugin build DIR"});
}

// A library that was opened. It is never closed, even if loading it failed half-way.
struct Opened {
  Library library;
  std::optional<PluginError> failure = std::nullopt;
};

void require_stamp_that_fits(const fs::path& file) {
  const auto stamp = read_stamp(file);
  if (!stamp) {
    throw PluginError(
        "the file " + file.string() + " is a shared library, but not a plugin: it has no stamp",
        {"build it with runner_add_plugin() of find_package(runner), or: runner plugin build DIR"});
  }
  if (const std::string difference = misfit(*stamp); !difference.empty()) {
    throw PluginError("the plugin " + file.string() + " " + difference,
                      {"build it again against this runner: runner plugin build DIR"});
  }
}

// Somebody else could replace a file that everybody can write, or one in such a folder.
void require_private(const fs::path& file) {
  struct stat own{}, folder{};
  const fs::path place = fs::canonical(file).parent_path();
  if (::stat(file.c_str(), &own) != 0 || ::stat(place.c_str(), &folder) != 0)
    return;  // said when it is opened
  const auto refuse = [&](const fs::path& what) {
    throw PluginError("the plugin " + file.string() + " is not loaded: everybody can write " + what.string(),
                      {"chmod o-w " + what.string()});
  };
  if ((own.st_mode & S_IWOTH) != 0) refuse(file);
  if ((folder.st_mode & S_IWOTH) == 0) return;
  if ((folder.st_mode & S_ISVTX) == 0) refuse(place);
  if (own.st_uid != ::geteuid() && own.st_uid != 0)  // /tmp: a file of one's own cannot be replaced there
    throw PluginError("the plugin " + file.string() +
                          " is not loaded: it belongs to another user, and everybody "
                          "can write " +
                          place.string(),
                      {"copy it to a folder of your own"});
}

void open_and_register(const Library& library) {
  const Loading loading(library);
  open_library(library.path);
  if (loading.refused() > 0) {
    throw PluginError("the plugin " + library.path +
                      " registers components compiled against another version of runner's headers");
  }
  if (loading.registered() == 0) {
    throw PluginError("the plugin " + library.path + " registers no component",
                      {"a component registers itself: const Registration<ModelKind> registration{..};"});
  }
}

}  // namespace

void load_plugin(const fs::path& file) {
  require_private(file);
  require_stamp_that_fits(file);
  static std::deque<Opened> opened;
  const std::string sha256 = sha256_of_file(file);
  for (const Opened& before : opened) {
    if (before.library.sha256 != sha256) continue;
    if (before.failure) throw PluginError(*before.failure);
    return;
  }
  Opened& own = opened.emplace_back(Library{fs::canonical(file).string(), sha256});
  try {
    open_and_register(own.library);
  } catch (const PluginError& error) {
    own.failure = error;
    throw;
  }
}

}  // namespace runner
