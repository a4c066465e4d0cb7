// The program itself is in librunner_core, which is loaded once the process is prepared for it.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

namespace {

// A request for a checkpoint waits until there is a handler for it; without one it would end the process.
void hold_checkpoint_requests() {
  sigset_t requests;
  sigemptyset(&requests);
  sigaddset(&requests, SIGUSR1);
  sigprocmask(SIG_BLOCK, &requests, nullptr);
}

// A thread that waits for the others at the end of a parallel loop should soon sleep. By default it spins for
// milliseconds: if another program needs a core, the thread that is waited for cannot run meanwhile, and
// training takes ten times as long. OpenMP reads this when it is loaded.
void limit_spinning() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "2000", /*overwrite=*/0);
}

// MKL, which is loaded with the program, would end the process with a message about something else.
bool in_deleted_folder() {
  char* folder = getcwd(nullptr, 0);
  const bool deleted = folder == nullptr && errno == ENOENT;
  std::free(folder);
  return deleted;
}

std::terminate_handler usual_end = nullptr;

// Memory may also run out where nothing catches that: while the libraries are loaded, or in a thread of
// theirs.
[[noreturn]] void end_unexpectedly() {
  try {
    if (const auto current = std::current_exception()) std::rethrow_exception(current);
  } catch (const std::bad_alloc&) {
    constexpr std::string_view text =
        "runner: error: There is not enough memory. `ulimit -v` tells whether it is limited; a smaller "
        "loader.batch_size or a smaller model takes less.\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
    _exit(1);
  } catch (...) {  // the usual message names it
  }
  usual_end();
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (in_deleted_folder()) {
    std::fputs("runner: error: the current folder no longer exists; change to another one\n", stderr);
    return 2;  // as for a mistake on the command line
  }
  usual_end = std::set_terminate(&end_unexpectedly);
  hold_checkpoint_requests();
  limit_spinning();
  void* library = dlopen("librunner_core.so", RTLD_LAZY | RTLD_GLOBAL);
  void* program = library == nullptr ? nullptr : dlsym(library, "runner_main");
  if (program == nullptr) {
    std::fprintf(stderr, "runner: error: the installation is incomplete: %s\n", dlerror());
    return 1;
  }
  return reinterpret_cast<int (*)(int, char**)>(program)(argc, argv);
}
