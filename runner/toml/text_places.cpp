#include "runner/toml/text_places.hpp"

#include <algorithm>

#include "registry/base/utf8.hpp"

namespace runner {

TextPlaces::TextPlaces(std::string_view text) : text_(text), lines_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') lines_.push_back(i + 1);
  }
}

TextPlaces::Bounds TextPlaces::line_bounds(std::size_t line) const {
  line = std::clamp<std::size_t>(line, 1, lines_.size());
  const std::size_t begin = lines_[line - 1];
  std::size_t end = line < lines_.size() ? lines_[line] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return {begin, end};
}

std::size_t TextPlaces::offset(std::size_t line, std::size_t character) {
  const Bounds bounds = line_bounds(line);
  if (mapped_ != line) {
    mapped_ = line;
    characters_.clear();
    for (std::size_t i = bounds.begin; i < bounds.end; ++i) {
      if (!continues_utf8(text_[i])) characters_.push_back(i);
    }
  }
  if (character == 0) return bounds.begin;
  return character <= characters_.size() ? characters_[character - 1] : bounds.end;
}

Origin TextPlaces::origin(std::shared_ptr<const Source> source, std::size_t offset,
                          std::size_t length) const {
  offset = std::min(offset, text_.size());
  const auto line = static_cast<std::size_t>(std::ranges::upper_bound(lines_, offset) - lines_.begin());
  const Bounds bounds = line_bounds(line);
  Origin origin{std::move(source)};
  origin.line = static_cast<std::uint32_t>(line);
  origin.column = static_cast<std::uint32_t>(offset - bounds.begin + 1);
  origin.length = static_cast<std::uint32_t>(std::min(length, bounds.end > offset ? bounds.end - offset : 0));
  return origin;
}

}  // namespace runner
