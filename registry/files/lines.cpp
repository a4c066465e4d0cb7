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

}  // namespace runner
