#include "runner/console/banner.hpp"

#include <algorithm>
#include <sstream>

#include "runner/terminal/text.hpp"

namespace runner {
namespace {

std::string repeated(const char* piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

}  // namespace

std::string banner(const std::string& title, const std::string& text, const Look& look) {
  constexpr std::size_t frame = 6, widest = 100, narrowest = 20;  // frame: a wall and two spaces on each side
  const auto columns = static_cast<std::size_t>(std::max(look.width - 1, 0));
  const std::size_t inside = std::clamp(columns, narrowest + frame, widest) - frame;
  const char *line = look.utf8 ? "━" : "#", *wall = look.utf8 ? "┃" : "#";
  const char* corners[] = {look.utf8 ? "┏" : "#", look.utf8 ? "┓" : "#", look.utf8 ? "┗" : "#",
                           look.utf8 ? "┛" : "#"};

  const auto edge = [&](const char* left, const char* right) {
    return look.style.yellow(left + repeated(line, inside + frame - 2) + right) + "\n";
  };
  std::string box = edge(corners[0], corners[1]);
  std::istringstream lines(title + "\n" + wrapped(text, inside, ""));
  bool first = true;
  for (std::string each; std::getline(lines, each); first = false) {
    each = shortened(each, inside, look.utf8);
    const std::string space(inside - visible_width(each) + 2, ' ');
    box += look.style.yellow(wall) + "  " + (first ? look.style.bold(look.style.yellow(each)) : each) +
           space + look.style.yellow(wall) + "\n";
  }
  return box + edge(corners[2], corners[3]);
}

}  // namespace runner
