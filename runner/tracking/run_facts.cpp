#include "runner/tracking/run_facts.hpp"

#include <random>

#include <nlohmann/json.hpp>

#include "components/support/io/atomic_file.hpp"
#include "components/support/io/read_json.hpp"
#include "components/trackers/support/wall_clock.hpp"
#include "registry/log.hpp"
#include "runner/recipe/write.hpp"

namespace runner {

namespace {

void flatten(const Value& value, const std::string& path,
             std::vector<std::pair<std::string, Setting>>& settings) {
  if (value.secret) return;
  if (const auto* table = value.as<Table>()) {
    for (const Member& member : *table) flatten(member.value, key_below(path, member.key), settings);
  } else if (const auto* list = value.as<Array>()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      flatten((*list)[i], key_below(path, std::to_string(i)), settings);
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

// 32 hexadecimal digits: every tracking service accepts them as an id, or as the start of one.
std::string new_id() {
  std::random_device random;
  std::string id;
  while (id.size() < 32) id += "0123456789abcdef"[random() % 16];
  return id;
}

bool read_identity(const std::filesystem::path& file, RunFacts& facts) {
  const auto json = read_json_file_or_null(file);
  if (!json.is_object() || !json.contains("id") || !json["id"].is_string() || !json.contains("started_at") ||
      !json["started_at"].is_number())
    return false;
  facts.id = json["id"];
  facts.started_at = json["started_at"];
  return true;
}

}  // namespace

RunFacts run_facts(const RunSection& run, const std::filesystem::path& folder, const Value& recipe) {
  RunFacts facts{run.name, folder, write_toml(recipe), {}};
  facts.tags = run.tags;
  flatten(recipe, "", facts.settings);
  return facts;
}

void identify(RunFacts& facts, const State& saved) {
  const std::filesystem::path file = facts.folder / "run.json";
  if (read_identity(file, facts)) return;
  if (std::filesystem::exists(file))
    log::warning("{} is damaged and is rewritten{}.", file.string(),
                 saved.texts.contains("id") ? " from the checkpoint" : "; the run gets a new id");
  if (saved.texts.contains("id") && saved.numbers.contains("started_at")) {
    facts.id = saved.texts.at("id");
    facts.started_at = saved.numbers.at("started_at");
  }
  if (facts.id.empty()) facts.id = new_id();
  if (facts.started_at == 0) facts.started_at = wall_clock();
  AtomicFile out(file);
  out.write(nlohmann::json{{"id", facts.id}, {"started_at", facts.started_at}}.dump() + "\n");
  out.commit();
}

}  // namespace runner
