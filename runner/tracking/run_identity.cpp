#include "runner/tracking/run_identity.hpp"

#include <random>

#include <nlohmann/json.hpp>

#include "components/support/io/atomic_file.hpp"
#include "components/support/io/read_json.hpp"
#include "components/trackers/support/wall_clock.hpp"
#include "registry/log.hpp"

namespace runner {

namespace {

// 32 hexadecimal digits: what every tracking service takes as an id, or as the start of one.
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

void identify(RunFacts& facts, const State& saved) {
  const std::filesystem::path file = facts.folder / "run.json";
  if (read_identity(file, facts)) return;
  if (std::filesystem::exists(file))
    log::warning("{} is damaged, and is written again{}.", file.string(),
                 saved.texts.contains("id") ? " from the checkpoint" : "; the run has another id now");
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
