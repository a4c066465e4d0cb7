#include "components/trackers/syncer.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "registry/base/log.hpp"
#include "registry/base/machine.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/lines.hpp"

namespace runner {

Destination vendor_destination(SyncMode mode, const std::string& program, const char* server_variable,
                               const std::string& usual_server, const char* key_variable) {
  if (mode == SyncMode::offline) return {};
  const std::string login = "`" + program + " login`", named = environment_variable(server_variable);
  const bool has_key = !environment_variable(key_variable).empty();
  return {.server = named.empty() ? usual_server : named,
          .named_by = named.empty() ? login : server_variable,
          .secrets = {has_key ? key_variable : login}};
}

namespace {

// What the program said last about an error: it may end with 0 although the server refused the key.
std::string last_complaint(const std::filesystem::path& log, std::uint64_t begin) {
  std::string found;
  try {
    const OpenFile file(log);
    Lines lines(file, std::min<std::uint64_t>(begin, file.size()));
    while (const auto line = lines.next())
      if (line->find("ERROR") != std::string_view::npos) found = escaped_name(*line);
  } catch (const IoError&) {  // no log, no complaint
  }
  return found;
}

}  // namespace

Syncer::~Syncer() { running(); }

// In its own process group, so that Ctrl-C stops only the run. It may outlive the run, so it inherits no
// files: one of them may be a lock.
void Syncer::start(const std::vector<std::string>& command, const std::filesystem::path& folder,
                   const std::filesystem::path& log) {
  log_ = log;
  std::error_code missing;
  const auto size = std::filesystem::file_size(log, missing);
  log_begin_ = missing ? 0 : size;
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int problem = posix_spawnp(&process_, words[0], &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (problem == 0) return;
  process_ = 0;
  log::warning("{}'s program {} does not start ({}), so nothing is uploaded during training: {}", vendor_,
               in_quotes(command[0]), std::strerror(problem), how_to_install_);
}

bool Syncer::running() {
  int status = 0;
  if (process_ == 0) return false;
  if (::waitpid(process_, &status, WNOHANG) == 0) return true;
  ended(status);
  return false;
}

bool Syncer::wait(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (running()) {
    if (Clock::now() > end) {
      log::info("{}'s program is still uploading and continues in the background; it writes {}", vendor_,
                log_.string());
      process_ = 0;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

void Syncer::ended(int status) {
  process_ = 0;
  const std::string complaint = last_complaint(log_, log_begin_);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && complaint.empty()) return;
  log::warning("{}'s program did not upload everything{}; see {}", vendor_,
               complaint.empty() ? "" : ": " + complaint, log_.string());
}

}  // namespace runner
