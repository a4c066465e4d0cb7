#include "registry/files/backward_lines.hpp"

#include <algorithm>

#include "registry/files/lines.hpp"

namespace runner {

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
