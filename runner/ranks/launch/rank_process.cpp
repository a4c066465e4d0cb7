#include "runner/ranks/launch/rank_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "runner/process/processes.hpp"

namespace runner {

namespace {

std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error("cannot make a pipe: " + std::system_category().message(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// Returns the end to read from.
FileDescriptor pipe_with(const std::string& text) {
  auto [out, in] = make_pipe();
  if (write(in.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("cannot pass the secret to a rank");
  return std::move(out);
}

// In the child, between fork and exec: only system calls, because the parent may have threads.
[[noreturn]] void become(char** command, char** environment, pid_t parent, int secret, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent has died before the prctl
  setpgid(0, 0);                        // Ctrl-C reaches the launcher alone, which passes it on once
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (secret >= 0) fcntl(secret, F_SETFD, 0);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
  }
  execve(command[0], command, environment);
  constexpr char message[] = "cannot execute the program\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message, sizeof message - 1);
  _exit(127);
}

}  // namespace

RankProcess start_rank(const RankStart& start) {
  const FileDescriptor secret = start.secret.empty() ? FileDescriptor() : pipe_with(start.secret);
  FileDescriptor output, output_in;
  if (start.own_output) std::tie(output, output_in) = make_pipe();

  std::vector<std::string> command = start.command, variables;
  for (const auto& [name, value] : start.environment) variables.push_back(name + "=" + value);
  if (secret)
    variables.push_back(std::string(variable::secret_descriptor) + "=" + std::to_string(secret.number()));
  std::vector<char*> arguments = pointers(command), environment = pointers(variables);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a rank: " + std::system_category().message(errno));
  if (child == 0)
    become(arguments.data(), environment.data(), parent, secret.number(),
           start.own_output ? output_in.number() : -1);
  setpgid(child, child);  // parent or child, whichever is first
  return {child, std::move(output)};
}

std::string describe_wait_status(int status) {
  if (WIFEXITED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

bool has_handler(pid_t process, int signal) {
  std::ifstream in("/proc/" + std::to_string(process) + "/status");
  constexpr std::string_view caught = "SigCgt:";
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(caught))
      return (std::stoull(line.substr(caught.size()), nullptr, 16) >> (signal - 1) & 1) != 0;
  return false;
}

}  // namespace runner
