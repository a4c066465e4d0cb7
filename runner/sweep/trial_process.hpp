#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace runner {

struct TrialCommand {
  std::vector<std::string> arguments;              // of this program
  std::map<std::string, std::string> environment;  // complete
  std::filesystem::path output;                    // appended to
};

// Runs this program in a child process, with its output in a file. The child ends when this process does. It
// inherits a lock, so that a restarted sweep waits for children of the earlier one that are still ending.
class TrialProcess {
 public:
  // Null: another process holds the lock. A file system without locks is no obstacle.
  static std::unique_ptr<TrialProcess> start(const TrialCommand& command, const std::filesystem::path& lock);
  ~TrialProcess();  // kills the process if it is still running
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  void stop();                     // like Ctrl-C: it saves and ends after its step
  std::optional<int> exit_code();  // nullopt: still running; 128 + signal if a signal ended it

 private:
  TrialProcess(const TrialCommand& command, int lock);

  pid_t process_ = -1;
  bool stopped_ = false;
};

}  // namespace runner
