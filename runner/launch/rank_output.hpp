#pragma once

#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>

#include "runner/distributed/socket.hpp"

namespace runner {

// What a rank prints: kept until it is known where the run's folder is, then written to a file there.
class RankOutput {
 public:
  // `tee`: also there, each line with the prefix in front.
  RankOutput(FileDescriptor pipe, std::string prefix, std::ostream* tee);

  int descriptor() const { return pipe_.number(); }
  bool open() const { return static_cast<bool>(pipe_); }
  // Takes what is there, without waiting; closes at the end.
  void take();
  // Appends what came so far, and from now on all that comes. Throws std::runtime_error.
  void write_to(const std::filesystem::path& file);
  const std::optional<std::filesystem::path>& file() const { return path_; }
  const std::deque<std::string>& last_lines() const { return last_; }

 private:
  void line(const std::string& text);

  FileDescriptor pipe_;
  const std::string prefix_;
  std::ostream* const tee_;
  std::string unfinished_, unwritten_;
  std::deque<std::string> last_;
  std::optional<std::filesystem::path> path_;
  std::ofstream out_;
};

}  // namespace runner
