#include "runner/runs/run_texts.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "components/support/io/read_json.hpp"

namespace runner {

std::vector<std::pair<std::string, std::string>> read_texts(const std::filesystem::path& file) {
  std::vector<std::pair<std::string, std::string>> texts;
  std::ifstream lines(file, std::ios::binary);
  for (std::string line; std::getline(lines, line);) {
    const auto json = read_json_or_null(line);
    if (!json.is_object() || !json.contains("tag") || !json.contains("text")) continue;
    const std::string tag = json["tag"];
    auto known = std::ranges::find(texts, tag, [](const auto& each) { return each.first; });
    if (known == texts.end()) known = texts.insert(known, {tag, {}});
    known->second = json["text"];
  }
  return texts;
}

}  // namespace runner
