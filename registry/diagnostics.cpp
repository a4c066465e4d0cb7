#include "registry/diagnostics.hpp"

#include <algorithm>

namespace runner {

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Diagnostic::Severity::error) ++errors_;
  all_.push_back(std::move(diagnostic));
}

void Diagnostics::error(Origin origin, std::string message, std::vector<std::string> hints, std::string see) {
  add({Diagnostic::Severity::error, std::move(origin), std::move(message), std::move(hints), std::move(see)});
}

void Diagnostics::warning(Origin origin, std::string message, std::vector<std::string> hints, std::string see) {
  add({Diagnostic::Severity::warning, std::move(origin), std::move(message), std::move(hints), std::move(see)});
}

Diagnostic Report::at(std::string_view field, std::string message) const {
  // A field left at its default has no place of its own: point at the table then.
  const Value* value = table_.as<Table>() ? table_.as<Table>()->find(field) : nullptr;
  const Origin& origin = value && !value->origin.is_default() ? value->origin : table_.origin;
  return {Diagnostic::Severity::error,
          origin,
          owner_ + ": \"" + std::string(field) + "\" " + std::move(message),
          {},
          see_,
          value && value->secret};
}

void Report::error(std::string_view field, std::string message) { diagnostics_.add(at(field, std::move(message))); }

void Report::warning(std::string_view field, std::string message) {
  Diagnostic diagnostic = at(field, std::move(message));
  diagnostic.severity = Diagnostic::Severity::warning;
  diagnostics_.add(std::move(diagnostic));
}

namespace {

constexpr std::size_t widest_line = 160;   // a longer line is shown around the place that is meant
constexpr std::size_t most_rendered = 100;  // beyond that, more messages help nobody

struct Palette {
  std::string_view bold, red, yellow, cyan, off;
};

constexpr Palette plain{};
constexpr Palette colours{"\033[1m", "\033[1;31m", "\033[1;33m", "\033[36m", "\033[0m"};

std::string_view line_of(const Source& source, std::uint32_t line) {
  std::string_view rest = source.text;
  for (std::uint32_t current = 1; current < line; ++current) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// What a terminal can show: control bytes and anything that is not well-formed text become '?'.
std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    const bool whole = length > 0 && lead < 0xF5 && i + length <= text.size() &&
                       std::ranges::all_of(text.substr(i + 1, length - 1), continues_utf8);
    const bool control = lead < 0x20 || lead == 0x7F;
    if (!whole || control) {
      out += lead == '\t' ? ' ' : '?';
      ++i;
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !continues_utf8(c); }));
}

// The source line with carets under what is meant; empty where there is nothing to show.
std::string excerpt(const Origin& origin, const Palette& paint) {
  if (!origin.source || origin.line == 0) return "";
  std::string_view line = line_of(*origin.source, origin.line);
  if (line.empty()) return "";
  std::size_t start = std::min<std::size_t>(origin.column > 0 ? origin.column - 1 : 0, line.size());
  std::size_t length = std::clamp<std::size_t>(origin.length, 1, std::max<std::size_t>(1, line.size() - start));
  if (line.size() > widest_line) {
    std::size_t from = start > widest_line / 2 ? start - widest_line / 2 : 0;
    while (from > 0 && continues_utf8(line[from])) --from;
    line = line.substr(from, widest_line);
    start -= from;
    length = std::min(length, line.size() - start);
  }
  const bool numbered = origin.source->kind == Source::Kind::file;
  const std::string number = numbered ? std::to_string(origin.line) : "";
  const std::string gutter(std::max<std::size_t>(5, number.size() + 2), ' ');
  const std::string before = printable(line.substr(0, start));
  const std::string meant = printable(line.substr(start, length));
  std::string out;
  out += gutter.substr(number.size()) + number + " | " + before + meant + printable(line.substr(start + meant.size() > line.size() ? line.size() : start + length)) + "\n";
  out += gutter + " | " + std::string(columns_of(before), ' ');
  out.append(paint.red).append(std::max<std::size_t>(1, columns_of(meant)), '^').append(paint.off);
  return out + "\n";
}

std::string place_of(const Origin& origin) {
  if (origin.is_default()) return "recipe";
  switch (origin.source->kind) {
    case Source::Kind::argument: return "command line";
    case Source::Kind::environment: return "environment";
    case Source::Kind::file: break;
  }
  return to_string(origin);
}

}  // namespace

std::string render(const Diagnostic& diagnostic, bool colour) {
  const Palette& paint = colour ? colours : plain;
  const bool is_error = diagnostic.severity == Diagnostic::Severity::error;
  std::string out;
  out.append(paint.bold).append(place_of(diagnostic.origin)).append(": ");
  out.append(is_error ? paint.red : paint.yellow).append(is_error ? "error: " : "warning: ").append(paint.off);
  out.append(paint.bold).append(printable(diagnostic.message)).append(paint.off).append("\n");
  if (!diagnostic.hide_source) out += excerpt(diagnostic.origin, paint);
  for (const std::string& hint : diagnostic.hints) out += "  " + printable(hint) + "\n";
  if (!diagnostic.see.empty()) out.append("  see: ").append(paint.cyan).append(diagnostic.see).append(paint.off) += "\n";
  return out;
}

std::string render(const Diagnostics& diagnostics, bool colour) {
  std::string out;
  std::size_t shown = 0;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (++shown > most_rendered) {
      out += ".. and " + std::to_string(diagnostics.all().size() - most_rendered) + " more\n";
      break;
    }
    out += render(diagnostic, colour);
  }
  return out;
}

}  // namespace runner
