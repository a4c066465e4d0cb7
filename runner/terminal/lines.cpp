#include "runner/terminal/lines.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "registry/base/wording.hpp"
#include "runner/terminal/text.hpp"

namespace runner {
namespace {

// A piece of a line. If there is no room, the most dispensable pieces are dropped first.
struct Piece {
  std::string text;
  int dispensable;
};

constexpr const char* gap = "  ";

std::size_t width_of(const std::vector<Piece>& pieces) {
  std::size_t width = 0;
  for (const Piece& piece : pieces) width += visible_width(piece.text) + (width > 0 ? 2 : 0);
  return width;
}

void fit(std::vector<Piece>& pieces, std::size_t width) {
  while (pieces.size() > 1 && width_of(pieces) > width) {
    pieces.erase(std::ranges::max_element(pieces, {}, &Piece::dispensable));
  }
}

std::string joined(const std::vector<Piece>& pieces) {
  std::string line;
  for (const Piece& piece : pieces) line += (line.empty() ? "" : gap) + piece.text;
  return line;
}

// The epoch that the last step belongs to: after the last step of the fifth epoch it is still the fifth.
std::string current_epoch(const ProgressLine& line) {
  constexpr double rounding = 1e-9;
  double current = std::max(1.0, std::ceil(line.epoch - rounding));
  if (!line.epochs) return "epoch " + epoch_text(current);
  current = std::min(current, std::max(1.0, std::ceil(*line.epochs)));
  return "epoch " + epoch_text(current) + "/" + epoch_text(std::ceil(*line.epochs));
}

std::string step_text(const ProgressLine& line) {
  return "step " + grouped(line.step) + (line.total_steps > 0 ? "/" + grouped(line.total_steps) : "");
}

std::string percent(double share) {
  const std::string number = std::to_string(std::lround(std::clamp(share, 0.0, 1.0) * 100));
  return std::string(3 - number.size(), ' ') + number + "%";
}

std::vector<Piece> numbers(const ProgressLine& line, std::optional<double> eta) {
  std::vector<Piece> pieces{{current_epoch(line), 3}, {step_text(line), 1}};
  if (line.loss) pieces.push_back({"loss " + measured(*line.loss), 0});
  pieces.push_back({"lr " + measured(line.lr), 5});
  if (line.examples_per_second > 0) pieces.push_back({measured(line.examples_per_second) + " examples/s", 4});
  if (eta) pieces.push_back({"ETA " + duration_text(*eta), 2});
  return pieces;
}

std::string bar(double share, int cells, const Look& look) {
  const double filled = std::clamp(share, 0.0, 1.0) * cells;
  const int whole = static_cast<int>(filled);
  std::string done, rest;
  for (int i = 0; i < whole; ++i) done += look.utf8 ? "━" : "=";
  const bool tip = whole < cells;
  if (tip) done += look.utf8 ? (filled - whole >= 0.5 ? "╸" : "╺") : ">";
  for (int i = whole + (tip ? 1 : 0); i < cells; ++i) rest += look.utf8 ? "─" : "-";
  const std::string painted = look.style.cyan(done) + look.style.dim(rest);
  return look.utf8 ? painted : "[" + painted + "]";
}

}  // namespace

std::string live_progress(const ProgressLine& line, std::optional<double> eta, const Look& look) {
  constexpr int widest_bar = 24, narrowest_bar = 6, around_bar = 8;  // brackets, the percentage and the gaps
  constexpr int usual_bar = 10, before_the_bar = 3;  // more dispensable pieces make room for the bar
  const auto width = static_cast<std::size_t>(std::max(look.width, 0));
  std::vector<Piece> pieces = numbers(line, eta);
  const std::size_t bar_room = usual_bar + around_bar;
  while (width_of(pieces) + bar_room > width) {
    const auto least = std::ranges::max_element(pieces, {}, &Piece::dispensable);
    if (least->dispensable <= before_the_bar) break;
    pieces.erase(least);
  }
  fit(pieces, width);
  const int room = look.width - static_cast<int>(width_of(pieces)) - around_bar;
  if (room >= narrowest_bar) {
    const int cells = std::min(room, widest_bar);
    pieces.insert(pieces.begin() + 1, {bar(line.share, cells, look) + " " + percent(line.share), 6});
  }
  if (pieces.size() == 1) return shortened(pieces[0].text, width, look.utf8);
  return joined(pieces);
}

std::string plain_progress(const ProgressLine& line, std::optional<double> eta) {
  return joined(numbers(line, eta));
}

std::string live_evaluation(double share, const Look& look) {
  std::vector<Piece> pieces{{"evaluating", 0}, {bar(share, 24, look) + " " + percent(share), 1}};
  fit(pieces, static_cast<std::size_t>(std::max(look.width, 0)));
  return pieces.size() == 1 ? shortened(pieces[0].text, static_cast<std::size_t>(look.width), look.utf8)
                            : joined(pieces);
}

std::vector<std::string> measurement_texts(const std::vector<std::pair<std::string, double>>& measurements,
                                           std::string_view without, const Style& style) {
  constexpr std::size_t most_bytes = 1000;
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  for (const auto& [name, value] : measurements) {
    if (bytes > most_bytes) {
      texts.push_back("and " + grouped(std::ssize(measurements) - std::ssize(texts)) + " more");
      break;
    }
    std::string_view shown = name;
    if (shown.starts_with(without)) shown.remove_prefix(without.size());
    texts.push_back(escaped_name(shown) + " " + style.bold(measured(value)));
    bytes += texts.back().size();
  }
  return texts;
}

std::string evaluation_text(const EvalLine& line, const Look& look) {
  std::string text =
      look.style.bold("eval") + gap + "epoch " + epoch_text(line.epoch) + gap + "step " + grouped(line.step);
  for (const std::string& one : measurement_texts(line.measurements, "eval/", look.style)) text += gap + one;
  text += gap + look.style.dim("in " + duration_text(line.seconds));
  return line.best ? text + gap + look.style.green("best so far") : text;
}

}  // namespace runner
