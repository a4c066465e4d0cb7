#pragma once

#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>

#include "runner/ranks/socket.hpp"

namespace runner {

// The output of a rank: kept in memory until the run folder is known, then written to a file there.
class RankOutput {
 public:
  // `tee`: each line is also written there, after the prefix.
  RankOutput(FileDescriptor pipe, std::string prefix, std::ostream* tee);

  int descriptor() const { return pipe_.number(); }
  bool open() const { return static_cast<bool>(pipe_); }
  // Reads what is available, without waiting; closes the pipe at its end.
  void take();
  // Appends the output so far, and from now on all further output. Throws std::runtime_error.
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
