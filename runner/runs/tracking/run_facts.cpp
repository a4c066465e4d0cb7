#include "runner/runs/tracking/run_facts.hpp"

#include <random>

#include <nlohmann/json.hpp>

#include "components/trackers/wall_clock.hpp"
#include "registry/base/log.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/read_json.hpp"
#include "runner/toml/write.hpp"

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
constexpr std::size_t id_length = 32;
constexpr std::string_view id_digits = "0123456789abcdef";

std::string new_id() {
  std::random_device random;
  std::string id;
  while (id.size() < id_length) id += id_digits[random() % id_digits.size()];
  return id;
}

// Both become part of the names of files, so only what the program itself writes is accepted.
bool take_identity(const std::string& id, double started_at, RunFacts& facts) {
  constexpr double year_5000 = 95'617'584'000;
  const bool valid = id.size() == id_length && id.find_first_not_of(id_digits) == std::string::npos &&
                     started_at > 0 && started_at < year_5000;
  if (valid) facts.id = id, facts.started_at = started_at;
  return valid;
}

bool read_identity(const std::filesystem::path& file, RunFacts& facts) {
  const auto json = read_json_file_or_null(file);
  return json.is_object() && json.contains("id") && json["id"].is_string() && json.contains("started_at") &&
         json["started_at"].is_number() && take_identity(json["id"], json["started_at"], facts);
}

bool read_identity(const State& saved, RunFacts& facts) {
  const auto id = saved.texts.find("id");
  const auto started_at = saved.numbers.find("started_at");
  return id != saved.texts.end() && started_at != saved.numbers.end() &&
         take_identity(id->second, started_at->second, facts);
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
  const bool is_known = read_identity(saved, facts);
  if (std::filesystem::exists(file))
    log::warning("{} is damaged and is rewritten{}.", file.string(),
                 is_known ? " from the checkpoint" : "; the run gets a new id");
  if (facts.id.empty()) facts.id = new_id();
  if (facts.started_at == 0) facts.started_at = wall_clock();
  AtomicFile out(file);
  out.write(nlohmann::json{{"id", facts.id}, {"started_at", facts.started_at}}.dump() + "\n");
  out.commit();
}

}  // namespace runner
