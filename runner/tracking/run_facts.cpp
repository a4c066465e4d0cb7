#include "runner/tracking/run_facts.hpp"

#include "runner/recipe/write.hpp"

namespace runner {

namespace {

void flatten(const Value& value, const std::string& path,
             std::vector<std::pair<std::string, Setting>>& settings) {
  if (value.secret) return;
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  if (const auto* table = value.as<Table>()) {
    for (const Member& member : *table) flatten(member.value, below(member.key), settings);
  } else if (const auto* list = value.as<Array>()) {
    for (std::size_t i = 0; i < list->size(); ++i) flatten((*list)[i], below(std::to_string(i)), settings);
  } else if (const auto* flag = value.as<bool>()) {
    settings.emplace_back(path, *flag);
  } else if (const auto* whole = value.as<std::int64_t>()) {
    settings.emplace_back(path, *whole);
  } else if (const auto* number = value.as<double>()) {
    settings.emplace_back(path, *number);
  } else if (const auto* text = value.as<std::string>()) {
    settings.emplace_back(path, *text);
  }
}

}  // namespace

RunFacts run_facts(const RunSection& run, const std::filesystem::path& folder, const Value& recipe) {
  RunFacts facts{run.name, folder, write_toml(recipe), {}};
  facts.tags = run.tags;
  flatten(recipe, "", facts.settings);
  return facts;
}

}  // namespace runner
