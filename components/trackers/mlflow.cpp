// A run on an MLflow server, over its REST interface. Whatever comes is on disk before it is sent, and what
// was sent twice counts once: MLflow knows a point by name, step, time and value. So the server may go away
// and come back without a lost point. A resumed run continues the same run of the server; MLflow cannot
// take points back, so those of an earlier attempt after the checkpoint stay, and the tag "runner.resumed_at"
// says from which step on the later ones count.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <span>

#include "components/support/io/read_json.hpp"
#include "components/trackers/support/file_name.hpp"
#include "components/trackers/support/http.hpp"
#include "components/trackers/support/json_number.hpp"
#include "components/trackers/support/mlflow_name.hpp"
#include "components/trackers/support/valid_utf8.hpp"
#include "components/trackers/support/wall_clock.hpp"
#include "components/trackers/tracker.hpp"
#include "registry/log.hpp"

namespace runner {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_metrics = 1000, most_params = 100, longest_value = 6000;

struct MLflow {
  std::string url;
  std::string experiment = "runner";
  std::optional<std::filesystem::path> token_file;
  bool artifacts = true;
};
constexpr auto describe(std::type_identity<MLflow>) {
  return fields(
      field("url", &MLflow::url,
            "The server, such as \"http://127.0.0.1:5000\"; empty: MLFLOW_TRACKING_URI. Credentials are "
            "never in the recipe: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or "
            "MLFLOW_TRACKING_TOKEN."),
      field("experiment", &MLflow::experiment, "The experiment the run belongs to.", non_empty()),
      field("token_file", &MLflow::token_file, "A file that holds the token, instead of the environment.",
            non_empty()),
      field("artifacts", &MLflow::artifacts,
            "Upload the recipe, the report, the best model (otherwise the last), texts and images."));
}
void check(const MLflow& mlflow, Report& report) {
  const auto host = mlflow.url.find("://");
  if (mlflow.url.empty()) return;
  if (!mlflow.url.starts_with("http://") && !mlflow.url.starts_with("https://"))
    report.error("url", "must start with http:// or https://");
  else if (mlflow.url.find('@', host) != std::string::npos)
    report.error("url",
                 "must not hold a password: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD");
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string read_token(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string token;
  if (!(in >> token)) throw std::runtime_error("Cannot read a token from " + file.string() + ".");
  return token;
}

struct Server {
  std::string url;
  Credentials credentials;
};

// Credentials in the URL of the environment are as good as those beside it.
Server find_server(const MLflow& params) {
  Server server{params.url.empty() ? environment("MLFLOW_TRACKING_URI") : params.url, {}};
  if (server.url.empty())
    throw std::runtime_error("No MLflow server is named: set tracker.url or MLFLOW_TRACKING_URI.");
  server.credentials = {environment("MLFLOW_TRACKING_USERNAME"), environment("MLFLOW_TRACKING_PASSWORD"),
                        environment("MLFLOW_TRACKING_TOKEN")};
  if (params.token_file) server.credentials.token = read_token(*params.token_file);
  const auto host = server.url.find("://");
  const auto at = server.url.find('@');
  if (host != std::string::npos && at != std::string::npos) {
    const std::string who = server.url.substr(host + 3, at - host - 3);
    server.credentials.user = who.substr(0, who.find(':'));
    if (who.find(':') != std::string::npos) server.credentials.password = who.substr(who.find(':') + 1);
    server.url.erase(host + 3, at - host - 2);
  }
  return server;
}

std::string param_value(const Setting& setting) {
  if (const auto* text = std::get_if<std::string>(&setting))
    return valid_utf8(*text).substr(0, longest_value);
  const Json json = json_setting(setting);
  return json.is_string() ? json.get<std::string>() : json.dump();
}

class MLflowRun : public Tracker {
 public:
  explicit MLflowRun(MLflow params) : params_(std::move(params)) {}

  State save() const override {
    if (run_.empty()) return {};
    return {.texts = {{"run_id", run_}, {"artifact_uri", artifact_uri_}}};
  }
  void load(const State& state) override {
    StateReader saved(state);
    run_ = saved.text("run_id");
    artifact_uri_ = saved.text("artifact_uri");
    saved.finish();
  }

  void start(const RunFacts& facts) override {
    if (!http_) {
      Server server = find_server(params_);
      http_.emplace(server.url, server.credentials);
    }
    if (run_.empty()) find_or_create_run(facts);
    Json tags = Json::array();
    if (facts.resumed_at)
      tags.push_back({{"key", "runner.resumed_at"}, {"value", std::to_string(*facts.resumed_at)}});
    ask("runs/update", {{"run_id", run_}, {"status", "RUNNING"}});
    send_params(facts.settings, tags);
    if (params_.artifacts && !facts.recipe.empty()) upload("recipe.toml", facts.recipe);
  }

  void log(const Record& record) override {
    for (const auto& [name, value] : record.values) {
      metrics_.push_back({{"key", renamed(name)},
                          {"value", json_number(value)},
                          {"timestamp", milliseconds(record.wall_time)},
                          {"step", record.step}});
    }
  }

  void text(std::string_view tag, std::string_view text, std::int64_t step) override {
    upload("texts/" + file_name_of(tag) + "-" + std::to_string(step) + ".txt", std::string(text));
  }

  void image(std::string_view tag, const Picture& image, std::int64_t step) override {
    upload("images/" + file_name_of(tag) + "-" + std::to_string(step) + ".png", image.png);
  }

  void artifact(std::string_view name, const std::filesystem::path& file) override {
    if (!takes_artifacts()) return;
    if (!std::filesystem::exists(file))
      return log::warning("{} is no longer there, so MLflow does not get it.", file.string());
    const HttpAnswer answer = http_->put_file(artifact_path(std::string(name)), file);
    if (answer.code >= 400) log::warning("MLflow rejected the file {}: {}", name, complaint(answer));
  }

  // In slices, each forgotten once the server has it.
  void flush() override {
    while (!metrics_.empty()) {
      const std::size_t count = std::min(most_metrics, metrics_.size());
      Refusals refusals;
      send_metrics(std::span(metrics_).first(count), refusals);
      metrics_.erase(metrics_.begin(), metrics_.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }

  void finish(const RunEnd& end) override {
    flush();
    constexpr const char* words[] = {"FINISHED", "KILLED", "FAILED"};
    if (!end.message.empty())
      ask("runs/set-tag", {{"run_id", run_}, {"key", "runner.message"}, {"value", end.message}});
    ask("runs/update", {{"run_id", run_},
                        {"status", words[static_cast<int>(end.outcome)]},
                        {"end_time", milliseconds(end.wall_time)}});
  }

 private:
  struct Refusals {
    std::size_t refused = 0, taken = 0;  // points
  };

  // MLflow refuses a whole batch for one point that it does not like: halves are sent until that one is
  // found. Where it likes none, something else is wrong, and all are kept for later.
  void send_metrics(std::span<const Json> metrics, Refusals& refusals) {
    constexpr std::size_t enough = 20;
    const HttpAnswer answer =
        http_->post("/api/2.0/mlflow/runs/log-batch",
                    json_text({{"run_id", run_}, {"metrics", std::vector(metrics.begin(), metrics.end())}}));
    if (answer.code != 400) {
      require(answer);
      refusals.taken += metrics.size();
    } else if (metrics.size() > 1) {
      send_metrics(metrics.first(metrics.size() / 2), refusals);
      send_metrics(metrics.subspan(metrics.size() / 2), refusals);
    } else {
      if (++refusals.refused >= enough && refusals.taken == 0) require(answer);
      const std::string name = metrics.front().at("key");
      if (refused_.insert(name).second)
        log::warning("MLflow refused the metric \"{}\" at step {}: {}", name,
                     metrics.front().at("step").dump(), complaint(answer));
    }
  }

  // Found by its tag where an earlier request was carried out and its answer got lost.
  void find_or_create_run(const RunFacts& facts) {
    const std::string experiment = find_or_create_experiment();
    const Json found = ask("runs/search", {{"experiment_ids", {experiment}},
                                           {"filter", "tags.`runner.id` = '" + facts.id + "'"},
                                           {"max_results", 1}});
    if (found.contains("runs") && !found["runs"].empty()) return take(found["runs"][0]);
    Json tags = Json::array({{{"key", "runner.id"}, {"value", facts.id}},
                             {{"key", "runner.folder"}, {"value", facts.folder.string()}},
                             {{"key", "mlflow.source.name"}, {"value", "runner " RUNNER_VERSION}}});
    for (const std::string& tag : facts.tags) tags.push_back({{"key", renamed(tag)}, {"value", "true"}});
    const Json made = ask("runs/create", {{"experiment_id", experiment},
                                          {"run_name", valid_utf8(facts.name)},
                                          {"start_time", milliseconds(facts.started_at)},
                                          {"tags", tags}});
    take(made["run"]);
  }

  std::string find_or_create_experiment() {
    const std::string query =
        "/api/2.0/mlflow/experiments/get-by-name?experiment_name=" + http_->escaped(params_.experiment);
    HttpAnswer answer = http_->get(query);
    if (answer.code == 404) {
      answer = http_->post("/api/2.0/mlflow/experiments/create", json_text({{"name", params_.experiment}}));
      if (answer.code < 400) return read_json(answer.body).at("experiment_id");
      answer = http_->get(query);  // somebody else was faster
    }
    require(answer);
    return read_json(answer.body).at("experiment").at("experiment_id");
  }

  void take(const Json& run) {
    run_ = run.at("info").at("run_id");
    artifact_uri_ = run.at("info").value("artifact_uri", "");
  }

  // MLflow keeps the first value of a parameter, and refuses another.
  void send_params(const std::vector<std::pair<std::string, Setting>>& settings, const Json& tags) {
    const HttpAnswer answer = http_->get("/api/2.0/mlflow/runs/get?run_id=" + http_->escaped(run_));
    require(answer);
    std::set<std::string> known;
    const Json data = read_json(answer.body).at("run").value("data", Json::object());
    for (const Json& param : data.value("params", Json::array())) known.insert(param.at("key"));
    std::vector<Json> params;
    for (const auto& [name, setting] : settings) {
      if (!known.contains(renamed(name)))
        params.push_back({{"key", renamed(name)}, {"value", param_value(setting)}});
    }
    for (std::size_t i = 0; i < params.size(); i += most_params) {
      const auto begin = params.begin() + static_cast<std::ptrdiff_t>(i);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(most_params, params.size() - i));
      ask("runs/log-batch", {{"run_id", run_}, {"params", Json(std::vector<Json>(begin, end))}});
    }
    if (!tags.empty()) ask("runs/log-batch", {{"run_id", run_}, {"tags", tags}});
  }

  bool takes_artifacts() {
    constexpr std::string_view served = "mlflow-artifacts:";
    if (!params_.artifacts || artifact_uri_.starts_with(served)) return params_.artifacts;
    log::warning(
        "MLflow stores artifacts at {}, which only MLflow's own client can write; no files are uploaded.",
        artifact_uri_);
    params_.artifacts = false;
    return false;
  }

  // "mlflow-artifacts:/1/<run>/artifacts" is served below this path.
  std::string artifact_path(const std::string& name) const {
    return "/api/2.0/mlflow-artifacts/artifacts" + artifact_uri_.substr(artifact_uri_.find('/')) + "/" + name;
  }

  void upload(const std::string& name, const std::string& bytes) {
    if (!takes_artifacts()) return;
    const HttpAnswer answer = http_->put(artifact_path(name), bytes);
    if (answer.code >= 400) log::warning("MLflow rejected the file {}: {}", name, complaint(answer));
  }

  std::string renamed(const std::string& name) {
    std::string allowed = mlflow_name(name);
    if (allowed != name && renamed_.insert(name).second)
      log::warning("MLflow does not allow the name \"{}\"; there it is \"{}\".", valid_utf8(name), allowed);
    return allowed;
  }

  Json ask(const std::string& what, const Json& question) {
    const HttpAnswer answer = http_->post("/api/2.0/mlflow/" + what, json_text(question));
    require(answer);
    return read_json_or_null(answer.body);
  }

  void require(const HttpAnswer& answer) const {
    if (answer.code < 400) return;
    const bool unknown = answer.code == 401 || answer.code == 403;
    throw std::runtime_error(http_->server() + " answered " + std::to_string(answer.code) + ": " +
                             complaint(answer) +
                             (unknown ? " Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or "
                                        "MLFLOW_TRACKING_TOKEN."
                                      : ""));
  }

  static std::string complaint(const HttpAnswer& answer) {
    constexpr std::size_t longest = 300;
    const Json json = read_json_or_null(answer.body);
    const std::string text = json.is_object() ? json.value("message", answer.body) : answer.body;
    return valid_utf8(text.substr(0, longest)) + (text.ends_with('.') ? "" : ".");
  }

  MLflow params_;
  std::optional<HttpSession> http_;
  std::string run_, artifact_uri_;
  std::vector<Json> metrics_;                // not sent yet
  std::set<std::string> renamed_, refused_;  // of which the user was told
};

TrackerFacts facts(const MLflow&) { return {.remote = true, .images = true}; }

std::unique_ptr<Tracker> build(const MLflow& params, const TrackerInputs&) {
  return std::make_unique<MLflowRun>(params);
}

const Registration<TrackerKind> registration{
    "mlflow", "A run on an MLflow server: parameters, metrics, tags, files and status.", &build};

}  // namespace
}  // namespace runner
