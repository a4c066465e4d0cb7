#include "registry/diagnostics.hpp"

#include <algorithm>
#include <charconv>

#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

// A field of a table, or an entry of a list by its index.
const Value* member_of(const Value& value, std::string_view key) {
  if (const Table* table = value.as<Table>()) return table->find(key);
  const Array* list = value.as<Array>();
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool found = list && error == std::errc{} && end == key.data() + key.size() && index < list->size();
  return found ? &(*list)[index] : nullptr;
}

}  // namespace

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Diagnostic::Severity::error) ++errors_;
  all_.push_back(std::move(diagnostic));
}

void Diagnostics::error(Origin origin, std::string message, std::vector<std::string> hints, std::string see) {
  add({Diagnostic::Severity::error, std::move(origin), std::move(message), std::move(hints), std::move(see)});
}

void Diagnostics::warning(Origin origin, std::string message, std::vector<std::string> hints,
                          std::string see) {
  add({Diagnostic::Severity::warning, std::move(origin), std::move(message), std::move(hints),
       std::move(see)});
}

std::string Diagnostics::first_error() const {
  for (const Diagnostic& diagnostic : all_)
    if (diagnostic.severity == Diagnostic::Severity::error) return diagnostic.message;
  return "";
}

void Diagnostics::hide_sources(const std::function<bool(const Origin&)>& holds_secret) {
  for (Diagnostic& diagnostic : all_) {
    if (!diagnostic.hide_source) diagnostic.hide_source = holds_secret(diagnostic.origin);
  }
}

Diagnostic Report::at(std::string_view field, std::string message) const {
  // A field left at its default has no place in the recipe: point at the table that contains it.
  const Value* value = &table_;
  Origin origin = table_.origin;
  for (std::string_view rest = field; value && !rest.empty();) {
    const std::string_view key = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), key.size() + 1));
    value = member_of(*value, key);
    if (value && !value->origin.is_default()) origin = value->origin;
  }
  const std::string subject =
      owner_.empty() ? std::string(field) + " " : owner_ + ": " + in_quotes(field) + " ";
  return {Diagnostic::Severity::error, origin, subject + std::move(message), {}, see_,
          value && value->secret};
}

void Report::error(std::string_view field, std::string message) {
  diagnostics_.add(at(field, std::move(message)));
}

void Report::warning(std::string_view field, std::string message) {
  Diagnostic diagnostic = at(field, std::move(message));
  diagnostic.severity = Diagnostic::Severity::warning;
  diagnostics_.add(std::move(diagnostic));
}

namespace {

constexpr std::size_t widest_line = 160;    // of a longer line, only the part around the error is shown
constexpr std::size_t most_rendered = 100;  // more messages would not help

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

std::size_t columns_of(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues_utf8));
}

// The part of a line that is shown: all of it, or a window around the error.
struct Window {
  std::string_view before, meant, after;
};

Window window_of(std::string_view line, std::size_t start, std::size_t length) {
  const auto whole_character = [&](std::size_t at) {
    while (at > 0 && at < line.size() && continues_utf8(line[at])) --at;
    return std::min(at, line.size());
  };
  start = whole_character(start);
  const std::size_t from =
      line.size() <= widest_line || start <= widest_line / 2 ? 0 : whole_character(start - widest_line / 2);
  const std::size_t to = whole_character(from + widest_line);
  const std::size_t end = std::clamp(whole_character(start + std::max<std::size_t>(1, length)), start, to);
  return {line.substr(from, start - from), line.substr(start, end - start), line.substr(end, to - end)};
}

// The source line with carets under the error; empty if there is nothing to show.
std::string excerpt(const Origin& origin, const Palette& paint) {
  if (!origin.source || origin.line == 0 || origin.column == 0) return "";
  const std::string_view line = line_of(*origin.source, origin.line);
  if (line.empty()) return "";
  const Window shown = window_of(line, origin.column - 1, origin.length);
  const std::string before = printable(shown.before), meant = printable(shown.meant);
  const std::string number = origin.source->kind == Source::Kind::file ? std::to_string(origin.line) : "";
  const std::string margin(std::max<std::size_t>(5, number.size() + 2), ' ');
  std::string out =
      margin.substr(number.size()) + number + " | " + before + meant + printable(shown.after) + "\n";
  out += margin + " | " + std::string(columns_of(before), ' ');
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
  out.append(paint.bold).append(printable(place_of(diagnostic.origin))).append(": ");
  out.append(is_error ? paint.red : paint.yellow)
      .append(is_error ? "error: " : "warning: ")
      .append(paint.off);
  out.append(paint.bold).append(printable(shown_message(diagnostic.message))).append(paint.off).append("\n");
  if (!diagnostic.hide_source) out += excerpt(diagnostic.origin, paint);
  for (const std::string& hint : diagnostic.hints) out += "  " + printable(shown_message(hint)) + "\n";
  if (!diagnostic.see.empty())
    out.append("  see: ").append(paint.cyan).append(diagnostic.see).append(paint.off) += "\n";
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
