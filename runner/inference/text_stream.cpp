#include "runner/inference/text_stream.hpp"

namespace runner {

std::string TextStream::add(std::int64_t token) {
  tokens_.push_back(token);
  return fresh(/*whole_only=*/true);
}

std::string TextStream::rest() { return fresh(/*whole_only=*/false); }

std::string TextStream::fresh(bool whole_only) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";  // stands for bytes that are no character yet
  const std::span<const std::int64_t> all(tokens_);
  const std::string before = interpreter_.text(all.subspan(begin_, shown_ - begin_));
  const std::string now = interpreter_.text(all.subspan(begin_));
  if (now.size() <= before.size() || (whole_only && now.ends_with(replacement))) return "";
  begin_ = shown_;
  shown_ = tokens_.size();
  return now.substr(before.size());
}

}  // namespace runner
