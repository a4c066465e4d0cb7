#include "components/trackers/mlflow_api.hpp"

#include "components/trackers/json_number.hpp"
#include "registry/base/log.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"

namespace runner {
namespace {

using Json = MlflowApi::Json;

const std::string root = "/api/2.0/mlflow/", artifacts = "/api/2.0/mlflow-artifacts/artifacts/";

std::string complaint_of(const HttpAnswer& answer) {
  constexpr std::size_t longest = 300;
  const Json json = read_json_or_null(answer.body);
  if (!json.is_object() || !json.contains("message") || !json["message"].is_string())
    return "not in MLflow's format; is it an MLflow server?";
  const std::string text = valid_utf8(json["message"].get<std::string>(), longest);
  return text + (text.ends_with('.') ? "" : ".");
}

std::string place_of(const std::string& location) {
  try {
    return "to " + parse_http_address(location).url;
  } catch (const std::runtime_error&) {
    return "elsewhere";
  }
}

std::string remedy_for(long code) {
  if (code != 401 && code != 403) return "";
  return " Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN.";
}

}  // namespace

Json MlflowApi::get(const std::string& what, const std::string& key, const std::string& value) {
  return read(http_.get(root + what + "?" + key + "=" + http_.escaped(value)));
}

Json MlflowApi::post(const std::string& what, const Json& question) {
  return read(http_.post(root + what, json_text(question)));
}

Json MlflowApi::get_run(const std::string& run) {
  static const Json::json_pointer stage("/run/info/lifecycle_stage");
  Json found = get("runs/get", "run_id", run);
  if (found.value(stage, std::string("active")) != "active")
    throw std::runtime_error("The run was deleted on " + server() + ": restore it there.");
  return found;
}

std::map<std::int64_t, std::size_t> MlflowApi::history(const std::string& run, const std::string& metric) {
  std::map<std::int64_t, std::size_t> points;
  std::string page;
  do {
    const Json found = read(http_.get(root + "metrics/get-history?run_id=" + http_.escaped(run) +
                                      "&metric_key=" + http_.escaped(metric) +
                                      (page.empty() ? "" : "&page_token=" + http_.escaped(page))));
    for (const Json& point : found.value("metrics", Json::array()))
      ++points[point.contains("step")
                   ? std::stoll(point["step"].is_string() ? point["step"].get<std::string>()
                                                          : point["step"].dump())
                   : 0];
    page = found.value("next_page_token", "");
  } while (!page.empty());
  return points;
}

void MlflowApi::put(const std::string& artifact, const std::string& bytes) {
  read(http_.put(artifacts + artifact, bytes));
}

void MlflowApi::put_file(const std::string& artifact, const std::filesystem::path& file) {
  read(http_.put_file(artifacts + artifact, file));
}

Json MlflowApi::read(const HttpAnswer& answer) const {
  const std::string answered = server() + " answered " + std::to_string(answer.code);
  if (answer.code >= 400) {
    const std::string complaint = complaint_of(answer);
    throw MlflowRefusal(answer.code, complaint, answered + ": " + complaint + remedy_for(answer.code));
  }
  if (answer.code >= 300) {
    throw std::runtime_error(answered + ", which leads " + place_of(answer.location) +
                             ": set the url of the tracker to the address of the MLflow server itself.");
  }
  if (answer.body.empty()) return Json::object();
  Json json = read_json_or_null(answer.body);
  if (!json.is_object())
    throw TrackerUnavailable(answered + " with a body that is not a JSON object; is it an MLflow server?");
  return json;
}

void MlflowApi::log_batch(const std::string& run, const char* kind, std::span<const Json> items) {
  Tally tally;
  log_batch(run, kind, items, tally);
  if (tally.taken == 0 && !tally.refused.empty()) get_run(run);  // a deleted run takes nothing
  for (const Refused& each : tally.refused) warn(each);
}

void MlflowApi::log_batch(const std::string& run, const char* kind, std::span<const Json> items,
                          Tally& tally) {
  constexpr std::size_t enough = 20;
  try {
    post("runs/log-batch", {{"run_id", run}, {kind, std::vector(items.begin(), items.end())}});
    tally.taken += items.size();
  } catch (const MlflowRefusal& refusal) {
    if (refusal.code != 400) throw;
    if (items.size() > 1) {
      log_batch(run, kind, items.first(items.size() / 2), tally);
      log_batch(run, kind, items.subspan(items.size() / 2), tally);
      return;
    }
    tally.refused.push_back({&items.front(), refusal.complaint});
    if (tally.refused.size() < enough || tally.taken > 0) return;
    get_run(run);
    throw;
  }
}

void MlflowApi::warn(const Refused& refused) {
  const std::string name = refused.item->at("key");
  if (!refused_.insert(name).second) return;
  const bool point = refused.item->contains("step");
  log::warning("MLflow refused the {} {}{}: {}", point ? "metric" : "parameter", in_quotes(name),
               point ? " at step " + refused.item->at("step").dump() : "", refused.complaint);
}

}  // namespace runner
