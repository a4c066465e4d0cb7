#include "runner/runs/run_texts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "registry/files/read_json.hpp"
#include "runner/runs/own_files.hpp"

namespace runner {

namespace {

struct Entry {
  std::string level, text;
};

// "2026-01-31 12:00:00.000 warning: text", as registry/base/log.cpp writes it; any other line continues the
// previous entry.
std::optional<Entry> start_of_entry(std::string_view line) {
  constexpr std::size_t level_at = 24;
  if (line.size() < level_at || line[4] != '-' || line[10] != ' ' || line[13] != ':' || line[19] != '.') {
    return std::nullopt;
  }
  const auto colon = line.find(": ", level_at);
  if (colon == std::string::npos) return std::nullopt;
  return Entry{std::string(line.substr(level_at, colon - level_at)), std::string(line.substr(colon + 2))};
}

}  // namespace

std::vector<std::string> warnings_in(const std::filesystem::path& log) {
  constexpr std::size_t most = 200, longest = 1 << 16;
  std::vector<std::string> warnings;
  std::optional<Entry> current;
  const auto keep = [&] {
    if (current && current->level == "warning" && warnings.size() < most &&
        std::ranges::find(warnings, current->text) == warnings.end())
      warnings.push_back(current->text);
  };
  each_line(log, [&](std::string_view line) {
    if (auto entry = start_of_entry(line)) {
      keep();
      current = std::move(entry);
    } else if (current && current->text.size() < longest) {
      current->text.append("\n").append(line);
    }
  });
  keep();
  return warnings;
}

std::vector<std::pair<std::string, std::string>> read_texts(const std::filesystem::path& file) {
  std::vector<std::pair<std::string, std::string>> texts;
  each_line(file, [&](std::string_view line) {
    const auto json = read_json_or_null(line);
    const auto is_text = [&](const char* key) { return json.contains(key) && json[key].is_string(); };
    if (!json.is_object() || !is_text("tag") || !is_text("text")) return;
    const std::string tag = json["tag"];
    auto known = std::ranges::find(texts, tag, [](const auto& each) { return each.first; });
    if (known == texts.end()) known = texts.insert(known, {tag, {}});
    known->second = json["text"];
  });
  return texts;
}

}  // namespace runner
