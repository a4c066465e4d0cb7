#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "components/trackers/tracker.hpp"
#include "registry/field.hpp"

namespace runner {

// When a run that is written in a vendor's own format is uploaded.
enum class SyncMode { offline, live };
constexpr auto describe(std::type_identity<SyncMode>) {
  return choices(
      choice("offline", SyncMode::offline, "later, by you, with the vendor's own program"),
      choice("live", SyncMode::live, "while training, by the vendor's own program, if it is installed"));
}

// Where the vendor's own program uploads to, and with which secret; nowhere while a run is offline.
Destination vendor_destination(SyncMode mode, const std::string& program, const char* server_variable,
                               const std::string& usual_server, const char* key_variable);

// Runs a vendor's own program, which uploads what a tracker wrote. It finds its API key as usual, in the
// environment or in the vendor's settings. If it is not installed or fails, there is only a warning: the
// files exist and can be uploaded later.
class Syncer {
 public:
  Syncer(std::string vendor, std::string how_to_install)
      : vendor_(std::move(vendor)), how_to_install_(std::move(how_to_install)) {}
  ~Syncer();  // the program may keep running
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // The program runs in `folder`, where it may leave its own logs; its output goes to `log`.
  void start(const std::vector<std::string>& command, const std::filesystem::path& folder,
             const std::filesystem::path& log);
  bool running();
  // Until it has ended, at most this long. False: it still runs, and continues in the background, from where
  // nothing is heard of it again.
  bool wait(double seconds);

 private:
  void ended(int status);

  std::string vendor_, how_to_install_;
  std::filesystem::path log_;
  std::uintmax_t log_begin_ = 0;  // where what this program writes begins in the log
  pid_t process_ = 0;
};

}  // namespace runner
