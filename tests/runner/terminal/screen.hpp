#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/base/utf8.hpp"

namespace runner::testing {

// As much of a terminal as the console uses: characters, line feed, carriage return, ESC[nA, ESC[K, ESC[J and
// colours; lines break at the right edge, and are broken anew when the width changes.
class Screen {
 public:
  explicit Screen(int width) : width_(static_cast<std::size_t>(width)) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      const std::size_t escape = text[0] == '\x1b' ? text.find_first_of("AKJm") + 1 : 0;
      const std::size_t length = escape > 0 ? escape : std::max<std::size_t>(1, utf8_length(text));
      escape > 0 ? obey(text.substr(0, length)) : put(text.substr(0, length));
      text.remove_prefix(length);
    }
  }

  // The rows up to the cursor's, without the last one where it is empty.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const Row& row : rows_) {
      std::string line;
      for (const std::string& cell : row.cells) line += cell;
      lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
    }
    if (lines.back().empty()) lines.pop_back();
    return lines;
  }

  void resize(int width) {
    width_ = static_cast<std::size_t>(width);
    std::vector<Row> old = std::exchange(rows_, {Row{}});
    y_ = x_ = 0;
    for (std::size_t i = 0; i < old.size(); ++i) {
      while (!old[i].cells.empty() && old[i].cells.back() == " ") old[i].cells.pop_back();
      for (const std::string& cell : old[i].cells) put(cell);
      if (i + 1 < old.size() && !old[i].continued) put("\n");
    }
  }

 private:
  struct Row {
    std::vector<std::string> cells;
    bool continued = false;  // in the next row, for want of room
  };

  void put(std::string_view character) {
    if (character == "\r") {
      x_ = 0;
    } else if (character == "\n") {
      x_ = 0;
      next_row();
    } else {
      if (x_ == width_) {
        rows_[y_].continued = true;
        x_ = 0;
        next_row();
      }
      auto& cells = rows_[y_].cells;
      if (cells.size() <= x_) cells.resize(x_ + 1, " ");
      cells[x_++] = character;
    }
  }

  void next_row() {
    if (++y_ == rows_.size()) rows_.emplace_back();
  }

  void obey(std::string_view escape) {
    if (escape.back() == 'A')
      y_ -= std::min(y_, static_cast<std::size_t>(std::stoi(std::string(escape.substr(2)))));
    if (escape.back() == 'J') rows_.resize(y_ + 1);
    if (escape.back() == 'J' || escape.back() == 'K') {
      rows_[y_].cells.resize(std::min(rows_[y_].cells.size(), x_));
      rows_[y_].continued = false;
    }
  }

  std::size_t width_, x_ = 0, y_ = 0;
  std::vector<Row> rows_{Row{}};
};

}  // namespace runner::testing
