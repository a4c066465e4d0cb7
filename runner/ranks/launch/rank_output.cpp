#include "runner/ranks/launch/rank_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

namespace runner {

RankOutput::RankOutput(FileDescriptor pipe, std::string prefix, std::ostream* tee)
    : pipe_(std::move(pipe)), prefix_(std::move(prefix)), tee_(tee) {
  if (pipe_) fcntl(pipe_.number(), F_SETFL, O_NONBLOCK);
}

void RankOutput::take() {
  constexpr std::size_t most_unwritten = 1 << 20, longest_line = 1 << 16;
  constexpr int most_reads = 8;  // more than a pipe holds; a rank that never stops writing must not keep us
  std::array<char, 65536> buffer;
  for (int i = 0; i < most_reads && pipe_; ++i) {
    const ssize_t count = read(pipe_.number(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (count <= 0) {
      if (!unfinished_.empty()) line(std::exchange(unfinished_, ""));
      pipe_.reset();
      break;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    if (out_.is_open()) {
      out_ << bytes;
    } else if (unwritten_.size() < most_unwritten) {
      unwritten_ += bytes;
    }
    for (const char c : bytes) {
      if (c == '\n' || unfinished_.size() == longest_line) line(std::exchange(unfinished_, ""));
      if (c != '\n') unfinished_ += c;
    }
  }
  if (out_.is_open()) out_.flush();
}

void RankOutput::write_to(const std::filesystem::path& file) {
  std::error_code ignored;  // opening the file reports the error
  std::filesystem::create_directories(file.parent_path(), ignored);
  out_.open(file, std::ios::app | std::ios::binary);
  if (!out_) throw std::runtime_error("cannot write the output of a rank to " + file.string());
  out_ << std::exchange(unwritten_, "") << std::flush;
  path_ = file;
}

void RankOutput::line(const std::string& text) {
  constexpr std::size_t kept = 20;
  last_.push_back(text);
  if (last_.size() > kept) last_.pop_front();
  if (tee_) *tee_ << prefix_ << text << "\n" << std::flush;
}

}  // namespace runner
