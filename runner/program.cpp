#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>

#include "runner/cli/cli.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/process/exit_codes.hpp"
#include "runner/process/failure.hpp"
#include "runner/process/signals.hpp"
#include "runner/ranks/membership.hpp"

namespace {

// Lost output must not look like success: a full disk is an error; if the reader has left, only the exit code
// says so.
int flushed(int exit_code) {
  if (std::cout.flush()) return exit_code;
  pollfd reader{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0) return 128 + SIGPIPE;
  std::cerr << "runner: standard output could not be written\n";
  return runner::Exit::failed;
}

int failed(const std::string& why) {
  std::cout.flush();
  std::cerr << "runner: error: " << why << "\n";
  return runner::Exit::failed;
}

// If a standard descriptor were closed, the first file that is opened would get its number, and output for
// the terminal would be written into that file.
void open_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) == -1 &&
        ::open("/dev/null", descriptor == STDIN_FILENO ? O_RDONLY : O_WRONLY) < 0)
      _exit(runner::Exit::failed);
  }
}

// main() has blocked the signal until now.
void take_held_requests() {
  sigset_t requests;
  sigemptyset(&requests);
  sigaddset(&requests, SIGUSR1);
  sigprocmask(SIG_UNBLOCK, &requests, nullptr);
}

}  // namespace

// What main() calls once the libraries are loaded.
extern "C" int runner_main(int argc, char** argv);

int runner_main(int argc, char** argv) {
  using namespace runner;
  keep_checkpoint_requests();
  take_held_requests();
  open_standard_descriptors();
  log_torch_warnings();
  std::signal(SIGCHLD, SIG_DFL);  // if it was ignored at the start, the end of a child would go unnoticed
  std::signal(SIGXFSZ, SIG_IGN);  // beyond the limit on file sizes, the write fails and reports it
  // The reader of the output may leave (`| head`, a closed terminal): a run continues without one, and
  // commands that only print find out when they flush.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    Registry registry = Registry::of_linked();
    const auto variables = process_environment();
    cli::Session session{std::move(registry),
                         variables,
                         std::cout,
                         std::cerr,
                         style_of(STDOUT_FILENO, variables),
                         style_of(STDERR_FILENO, variables)};
    return flushed(cli::dispatch({argv + std::min(argc, 1), argv + argc}, session));
  } catch (const std::exception& error) {
    return failed(failure_text(error));
  } catch (...) {
    return failed(unknown_failure_text());
  }
}
