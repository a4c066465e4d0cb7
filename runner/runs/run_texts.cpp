#include "runner/runs/run_texts.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "registry/files/read_json.hpp"

namespace runner {

namespace {

struct Entry {
  std::string level, text;
};

// "2026-01-31 12:00:00.000 warning: text", as registry/base/log.cpp writes it; any other line continues the
// previous entry.
std::optional<Entry> start_of_entry(const std::string& line) {
  constexpr std::size_t level_at = 24;
  if (line.size() < level_at || line[4] != '-' || line[10] != ' ' || line[13] != ':' || line[19] != '.') {
    return std::nullopt;
  }
  const auto colon = line.find(": ", level_at);
  if (colon == std::string::npos) return std::nullopt;
  return Entry{line.substr(level_at, colon - level_at), line.substr(colon + 2)};
}

}  // namespace

std::vector<std::string> warnings_in(const std::filesystem::path& log) {
  constexpr std::size_t most = 200;
  std::vector<std::string> warnings;
  std::optional<Entry> current;
  const auto keep = [&] {
    if (current && current->level == "warning" && warnings.size() < most &&
        std::ranges::find(warnings, current->text) == warnings.end())
      warnings.push_back(current->text);
  };
  std::ifstream file(log, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    if (auto entry = start_of_entry(line)) {
      keep();
      current = std::move(entry);
    } else if (current) {
      current->text += "\n" + line;
    }
  }
  keep();
  return warnings;
}

std::vector<std::pair<std::string, std::string>> read_texts(const std::filesystem::path& file) {
  std::vector<std::pair<std::string, std::string>> texts;
  std::ifstream lines(file, std::ios::binary);
  for (std::string line; std::getline(lines, line);) {
    const auto json = read_json_or_null(line);
    const auto is_text = [&](const char* key) { return json.contains(key) && json[key].is_string(); };
    if (!json.is_object() || !is_text("tag") || !is_text("text")) continue;
    const std::string tag = json["tag"];
    auto known = std::ranges::find(texts, tag, [](const auto& each) { return each.first; });
    if (known == texts.end()) known = texts.insert(known, {tag, {}});
    known->second = json["text"];
  }
  return texts;
}

}  // namespace runner
