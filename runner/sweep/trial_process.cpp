#include "runner/sweep/trial_process.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace runner {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

// Closed when this process is done with it; the child keeps its own.
class FileDescriptor {
 public:
  FileDescriptor(const std::filesystem::path& path, int flags)
      : number_(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0644)) {
    if (number_ < 0) fail("Cannot open " + path.string());
  }
  ~FileDescriptor() { ::close(number_); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

TrialProcess::TrialProcess(const std::vector<std::string>& arguments, const std::filesystem::path& output,
                           const std::filesystem::path& lock) {
  const FileDescriptor out(output, O_WRONLY | O_APPEND), locked(lock, O_RDWR);
  while (::flock(locked.number(), LOCK_EX) != 0) {
    if (errno != EINTR) fail("Cannot lock " + lock.string());
  }
  std::vector<char*> words{const_cast<char*>("runner")};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) fail("Cannot start a trial");
  if (process_ > 0) return;
  // Only calls that are safe after a fork from here on.
  ::setpgid(0, 0);  // Ctrl-C is for the sweep, which passes it on
  // Sent for every thread of the parent that ends: a sweep has only one, and a second SIGTERM would end the
  // trial before it has saved.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  ::dup2(out.number(), STDOUT_FILENO);
  ::dup2(out.number(), STDERR_FILENO);
  ::fcntl(locked.number(), F_SETFD, 0);
  ::execv("/proc/self/exe", words.data());
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
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace runner
