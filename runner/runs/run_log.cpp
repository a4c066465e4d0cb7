#include "runner/runs/run_log.hpp"

#include <algorithm>
#include <fstream>
#include <optional>

namespace runner {

namespace {

struct Entry {
  std::string level, text;
};

// "2026-01-31 12:00:00.000 warning: text", as registry/log.cpp writes it; any other line goes on the one
// before.
std::optional<Entry> beginning_of_entry(const std::string& line) {
  constexpr std::size_t level_at = 24;
  if (line.size() < level_at || line[4] != '-' || line[10] != ' ' || line[13] != ':' || line[19] != '.') {
    return std::nullopt;
  }
  const auto colon = line.find(": ", level_at);
  if (colon == std::string::npos) return std::nullopt;
  return Entry{line.substr(level_at, colon - level_at), line.substr(colon + 2)};
}

void keep(const Entry& entry, RunLog& log) {
  constexpr std::size_t most_warnings = 200;
  if (entry.level == "warning" && log.warnings.size() < most_warnings &&
      std::ranges::find(log.warnings, entry.text) == log.warnings.end()) {
    log.warnings.push_back(entry.text);
  }
  const auto end_of_tag = entry.text.find('\n');
  if (entry.level != "info" || end_of_tag == std::string::npos) return;
  const std::string tag = entry.text.substr(0, end_of_tag);
  if (tag.empty() || tag.find(' ') != std::string::npos) return;  // a message of several lines, not a text
  std::string text = entry.text.substr(end_of_tag + 1);
  const auto known = std::ranges::find(log.texts, tag, [](const auto& each) { return each.first; });
  if (known != log.texts.end()) {
    known->second = std::move(text);
  } else {
    log.texts.emplace_back(tag, std::move(text));
  }
}

}  // namespace

RunLog read_log(const std::filesystem::path& path) {
  RunLog log;
  std::ifstream file(path, std::ios::binary);
  std::optional<Entry> current;
  for (std::string line; std::getline(file, line);) {
    if (auto entry = beginning_of_entry(line)) {
      if (current) keep(*current, log);
      current = std::move(entry);
    } else if (current) {
      current->text += "\n" + line;
    }
  }
  if (current) keep(*current, log);
  return log;
}

}  // namespace runner
