#include "registry/files/lines.hpp"

#include <algorithm>

#include "registry/base/wording.hpp"

namespace runner {

void refuse_long_line(const std::filesystem::path& path) {
  throw IoError(shown_message(path.string()) + " has a line of more than " +
                std::to_string(longest_line >> 20) + " MB: that is no record of a run.");
}

bool Lines::read_more() {
  constexpr std::uint64_t block = 1 << 20;
  const std::uint64_t left = file_.size() > read_ ? file_.size() - read_ : 0;
  if (left == 0) return false;
  waiting_.erase(0, begin_);
  searched_ = waiting_.size();
  begin_ = 0;
  if (waiting_.size() > longest_line) refuse_long_line(file_.path());
  waiting_.resize(searched_ + std::min(left, block));
  file_.read_at(read_,
                {reinterpret_cast<std::uint8_t*>(waiting_.data()) + searched_, waiting_.size() - searched_});
  read_ += waiting_.size() - searched_;
  return true;
}

std::optional<std::string_view> Lines::next() & {
  for (;;) {
    const std::size_t end = waiting_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = waiting_.size();
      if (!read_more()) return std::nullopt;
      continue;
    }
    const auto line = std::string_view(waiting_).substr(begin_, end - begin_);
    begin_ = searched_ = end + 1;
    after_ = read_ - (waiting_.size() - begin_);
    return line;
  }
}

BackwardLines::BackwardLines(const std::filesystem::path& path, std::uint64_t begin)
    : path_(path), begin_(begin), start_(begin) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing)) return;  // opening a pipe would wait for a writer
  in_.open(path, std::ios::binary);
  const auto size = std::filesystem::file_size(path, missing);
  if (!missing) start_ = std::max<std::uint64_t>(begin, size);
}

bool BackwardLines::read_more() {
  constexpr std::uint64_t block = 1 << 16;
  // A long line is read in larger and larger blocks, so that its bytes are not moved again and again.
  const std::uint64_t size = std::min(std::max<std::uint64_t>(block, waiting_.size()), start_ - begin_);
  if (size == 0) return false;
  if (waiting_.size() > longest_line) refuse_long_line(path_);
  std::string more(size, '\0');
  in_.seekg(static_cast<std::streamoff>(start_ - size));
  if (!in_.read(more.data(), static_cast<std::streamsize>(size))) return false;
  waiting_.insert(0, more);
  start_ -= size;
  return true;
}

std::optional<BackwardLines::Line> BackwardLines::next() & {
  waiting_.resize(left_);
  for (;;) {
    const std::size_t end = waiting_.size() - (waiting_.ends_with('\n') ? 1 : 0);  // of the line's text
    const std::size_t before = end == 0 ? std::string::npos : waiting_.rfind('\n', end - 1);
    const bool whole = before != std::string::npos;
    if (!whole && read_more()) continue;
    if (waiting_.empty()) return std::nullopt;
    left_ = whole ? before + 1 : 0;
    return Line{start_ + left_, std::string_view(waiting_).substr(left_, end - left_)};
  }
}

}  // namespace runner
