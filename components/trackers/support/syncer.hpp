#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "registry/field.hpp"

namespace runner {

// When a run that is written in a vendor's own format is uploaded.
enum class SyncMode { offline, live };
constexpr auto describe(std::type_identity<SyncMode>) {
  return choices(
      choice("offline", SyncMode::offline, "later, by you, with the vendor's own program"),
      choice("live", SyncMode::live, "while training, by the vendor's own program, if it is installed"));
}

// A vendor's own program, which uploads what a tracker wrote. It finds its key where it always does: in the
// environment or in the vendor's settings. Not installed, or failing, it is a warning and no more: the files
// are there and can be uploaded later.
class Syncer {
 public:
  Syncer(std::string vendor, std::string how_to_install)
      : vendor_(std::move(vendor)), how_to_install_(std::move(how_to_install)) {}
  ~Syncer();  // leaves it running
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // Runs in `folder`, where such programs leave logs of their own; its output goes to `log`.
  void start(const std::vector<std::string>& command, const std::filesystem::path& folder,
             const std::filesystem::path& log);
  bool running();
  void wait(double seconds);  // until it has ended, but no longer

 private:
  void ended(int status);

  std::string vendor_, how_to_install_;
  std::filesystem::path log_;
  pid_t process_ = 0;
};

}  // namespace runner
