#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "registry/origin.hpp"

namespace runner {

// Converts between offsets, lines and columns of a text. Results are always inside the text.
class TextPlaces {
 public:
  struct Bounds {
    std::size_t begin, end;
  };

  explicit TextPlaces(std::string_view text);

  Bounds line_bounds(std::size_t line) const;  // without the line end
  std::size_t offset(std::size_t line,
                     std::size_t character);  // both from 1; the character counted in code points
  Origin origin(std::shared_ptr<const Source> source, std::size_t offset, std::size_t length) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> lines_;  // the offset of each
  // The offsets of the characters of the last line asked for, so that a long line is not scanned again for
  // every value on it.
  std::size_t mapped_ = 0;
  std::vector<std::size_t> characters_;
};

}  // namespace runner
