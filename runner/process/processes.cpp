#include "runner/process/processes.hpp"

#include <sys/wait.h>

#include <filesystem>

namespace runner {

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

int exit_code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace runner
