#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace runner {

// This program once more, in a process of its own, with what it says in a file. It ends with this process,
// and a trial of an earlier sweep that is still about to end is waited for: a lock that it inherits says so.
class TrialProcess {
 public:
  TrialProcess(const std::vector<std::string>& arguments, const std::filesystem::path& output,
               const std::filesystem::path& lock);
  ~TrialProcess();  // kills it unless wait() was called
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  void stop();                     // as Ctrl-C does: after the step, and saved
  std::optional<int> exit_code();  // none yet: it runs; 128 + signal where one ended it

 private:
  pid_t process_ = -1;
  bool stopped_ = false;
};

}  // namespace runner
