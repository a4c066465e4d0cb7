#include "runner/sweep/trial_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "registry/files/file_lock.hpp"
#include "runner/process/processes.hpp"
#include "runner/ranks/socket.hpp"

namespace runner {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

FileDescriptor open_output(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!file) fail("Cannot open " + path.string());
  return file;
}

}  // namespace

std::unique_ptr<TrialProcess> TrialProcess::start(const TrialCommand& command,
                                                  const std::filesystem::path& lock) {
  const auto held = FileLock::try_lock(lock);
  if (!held) return nullptr;
  return std::unique_ptr<TrialProcess>(new TrialProcess(command, held->descriptor()));
}

TrialProcess::TrialProcess(const TrialCommand& command, int lock) {
  const FileDescriptor out = open_output(command.output);
  std::vector<std::string> arguments = command.arguments, variables;
  arguments.insert(arguments.begin(), "runner");
  for (const auto& [name, value] : command.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> words = pointers(arguments), environment = pointers(variables);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) fail("Cannot start a trial");
  if (process_ > 0) return;
  // From here on only calls that are async-signal-safe, because this is the child of a fork.
  ::setpgid(0, 0);  // Ctrl-C goes to the sweep only, which passes it on
  // Sent for every thread of the parent that ends: a sweep has only one, and a second SIGTERM would end the
  // trial before it has saved.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  ::dup2(out.number(), STDOUT_FILENO);
  ::dup2(out.number(), STDERR_FILENO);
  ::fcntl(lock, F_SETFD, 0);
  ::execve("/proc/self/exe", words.data(), environment.data());
  ::_exit(127);
}

TrialProcess::~TrialProcess() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void TrialProcess::stop() {
  if (process_ > 0 && !std::exchange(stopped_, true)) ::kill(process_, SIGTERM);
}

std::optional<int> TrialProcess::exit_code() {
  int status = 0;
  if (::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  process_ = -1;
  return exit_code_of(status);
}

}  // namespace runner
