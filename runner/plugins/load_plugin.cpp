#include "runner/plugins/load_plugin.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <deque>

#include "components/support/io/io_error.hpp"
#include "components/support/io/sha256.hpp"
#include "registry/registry.hpp"
#include "runner/plugins/plugin_error.hpp"
#include "runner/plugins/read_stamp.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// While it lives, a crash says whose fault it is before the program ends by it.
class CrashNotice {
 public:
  explicit CrashNotice(const std::string& path) {
    text_ = "runner: error: the plugin " + path + " crashed while it was loaded\n";
    shown_ = &text_;
    struct sigaction action{};
    action.sa_handler = [](int signal) {
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, shown_->data(), shown_->size());
      ::raise(signal);
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &action, &before_[i]);
  }
  ~CrashNotice() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  CrashNotice(const CrashNotice&) = delete;
  CrashNotice& operator=(const CrashNotice&) = delete;

 private:
  static constexpr std::array signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  static inline const std::string* shown_ = nullptr;  // for the handler, which gets nothing but a number

  std::string text_;
  std::array<struct sigaction, signals.size()> before_{};
};

// What dlopen says begins with the path, which the message has already.
std::string reason_of(std::string text, const fs::path& file) {
  const std::string prefix = file.string() + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

void open_library(const fs::path& file) {
  const CrashNotice notice(file.string());
  try {
    if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return;
  } catch (const std::exception& error) {
    throw PluginError("the plugin " + file.string() + " failed while it registered: " + error.what());
  } catch (...) {
    throw PluginError("the plugin " + file.string() + " threw an exception while it registered");
  }
  const char* said = dlerror();
  throw PluginError("the plugin " + file.string() + " cannot be loaded: " + reason_of(said ? said : "", file),
                    {"build it again against this runner: runner plugin build DIR"});
}

}  // namespace

void load_plugin(const fs::path& path) {
  const auto stamp = read_stamp(path);
  if (!stamp) {
    throw PluginError(
        "the file " + path.string() + " is a shared library, but not a plugin: it has no stamp",
        {"build it with runner_add_plugin() of find_package(runner), or: runner plugin build DIR"});
  }
  if (const std::string difference = misfit(*stamp); !difference.empty()) {
    throw PluginError("the plugin " + path.string() + " " + difference,
                      {"build it again against this runner: runner plugin build DIR"});
  }
  // What was loaded once stays in the process until its end.
  static std::deque<Library> loaded;
  Library library{fs::canonical(path).string(), sha256_of_file(path)};
  for (const Library& known : loaded) {
    if (known.sha256 == library.sha256) return;
  }
  loaded.push_back(std::move(library));
  const Loading loading(loaded.back());
  open_library(loaded.back().path);
  if (loading.refused() > 0) {
    throw PluginError("the plugin " + path.string() +
                      " registers components compiled against another version of runner's headers");
  }
  if (loading.registered() == 0) {
    throw PluginError("the plugin " + path.string() + " registers no component",
                      {"a component registers itself: const Registration<ModelKind> registration{..};"});
  }
}

}  // namespace runner
