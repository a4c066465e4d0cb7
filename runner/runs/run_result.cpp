#include "runner/runs/run_result.hpp"

#include <torch/utils.h>
#include <torch/version.h>

#include <nlohmann/json.hpp>

#include "components/trackers/json_number.hpp"
#include "registry/registry.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

Json by_name(const std::vector<std::pair<std::string, double>>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = json_number(value);
  return json;
}

}  // namespace

int RunResult::exit_code() const {
  if (outcome == Outcome::failed) return 1;
  return outcome == Outcome::interrupted ? 128 + signal : 0;
}

std::string result_json(const RunResult& result, const std::filesystem::path& run_folder) {
  Json json{{"outcome", name_of(result.outcome)},
            {"message", result.message},
            {"steps", result.steps},
            {"skipped_steps", result.skipped_steps},
            {"epochs", json_number(result.epochs)},
            {"seconds", json_number(result.seconds)}};
  if (result.best) {
    json["best"] = {{"metric", result.best->metric},
                    {"value", json_number(result.best->value)},
                    {"step", result.best->step},
                    {"epoch", json_number(result.best->epoch)}};
  }
  if (const auto& objective = result.objective)
    json["objective"] = {{"metric", objective->metric}, {"mode", objective->highest ? "max" : "min"}};
  for (const auto& [metric, better] : result.better)
    json["better"][metric] = better == Better::max ? "max" : "min";
  json["last"] = by_name(result.last);
  json["time"] = by_name(result.time);
  json["files"] = Json::object();
  for (const auto& [name, path] : result.files)
    json["files"][name] = path.lexically_relative(run_folder).string();
  if (!result.warnings.empty()) json["warnings"] = result.warnings;
  if (!result.stand_in.empty()) json["stand_in"] = result.stand_in;
  json["versions"] = result.versions;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::map<std::string, std::string> versions() {
  std::map<std::string, std::string> all{{"runner", RUNNER_VERSION}, {"libtorch", TORCH_VERSION}};
  for (const Library* library : Registry::of_linked().libraries())
    all["plugin " + std::filesystem::path(library->path).filename().string()] = "sha256 " + library->sha256;
  return all;
}

std::map<std::string, std::string> versions_and_threads() {
  auto all = versions();
  all["threads"] = std::to_string(torch::get_num_threads());
  return all;
}

}  // namespace runner
