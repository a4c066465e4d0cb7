// A run on an MLflow server, over its REST interface. Data is on disk before it is sent, and a point that is
// sent twice counts once, because MLflow identifies it by name, step, time and value. So no point is lost if
// the server is unavailable for a while. A resumed run continues the same run on the server. MLflow cannot
// delete points, so those that an earlier attempt logged after the checkpoint stay; the tag
// "runner.resumed_at" gives the step after which the new points count.
#include <algorithm>
#include <fstream>
#include <mutex>
#include <set>
#include <span>

#include "components/trackers/json_number.hpp"
#include "components/trackers/mlflow_api.hpp"
#include "components/trackers/mlflow_name.hpp"
#include "components/trackers/tracker.hpp"
#include "components/trackers/tracker_files.hpp"
#include "components/trackers/wall_clock.hpp"
#include "registry/base/log.hpp"
#include "registry/base/machine.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "registry/secrets.hpp"

namespace runner {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_metrics = 1000, most_params = 100;  // in a batch
constexpr const char* message_tag = "runner.message";          // why the run stopped or failed
constexpr std::size_t longest_value = 6000, longest_tag = 5000, longest_name = 250;  // bytes

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
            "MLFLOW_TRACKING_TOKEN. They go only to a server that you named yourself: in "
            "MLFLOW_TRACKING_URI, on the command line, or with `runner trust server`."),
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
  else if (mlflow.url.find_first_of("?#") != std::string::npos)
    report.error("url", "must be the address of a server, without \"?\" and \"#\"");
}

std::string read_token(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string token;
  if (!(in >> token)) throw std::runtime_error("Cannot read a token from " + file.string() + ".");
  return token;
}

constexpr const char *uri_variable = "MLFLOW_TRACKING_URI", *token_variable = "MLFLOW_TRACKING_TOKEN",
                     *user_variable = "MLFLOW_TRACKING_USERNAME",
                     *password_variable = "MLFLOW_TRACKING_PASSWORD";

// A user and password in MLFLOW_TRACKING_URI take precedence over the variables for them.
HttpAddress find_server(const MLflow& settings) {
  const std::string url = settings.url.empty() ? environment_variable(uri_variable) : settings.url;
  if (url.empty())
    throw std::runtime_error("No MLflow server is named: set tracker.url or MLFLOW_TRACKING_URI.");
  HttpAddress server = parse_http_address(url);
  Credentials& known = server.credentials;
  if (known.user.empty())
    known = {environment_variable(user_variable), environment_variable(password_variable), {}};
  known.token = settings.token_file ? read_token(*settings.token_file) : environment_variable(token_variable);
  return server;
}

std::string param_value(const Setting& setting) {
  if (const auto* text = std::get_if<std::string>(&setting)) return *text;
  const Json json = json_setting(setting);
  return json.is_string() ? json.get<std::string>() : json.dump();
}

class MLflowRun : public Tracker {
 public:
  explicit MLflowRun(MLflow settings) : settings_(std::move(settings)) {}

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
    connect();
    const std::string earlier = run_;
    understood([&] {
      known_ = is_there() || find_run(facts);
      if (!known_) create_run(facts);
    });
    if (!known_ && !earlier.empty()) {
      log::warning(
          "{} does not know the run {}, so a new one is created there, without what was sent before.",
          api_->server(), earlier);
    }
    undescribed_ = facts;
  }

  // Sends before it adds anything, because a call that fails is repeated. At most one request, so that the
  // end of a run does not wait any longer for a slow server.
  void log(const Record& record) override {
    if (metrics_.size() >= most_metrics) send_slice();
    for (const auto& [name, value] : record.values) {
      metrics_.push_back({{"key", names_.of(name)},
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
    if (!std::filesystem::exists(file))
      return log::warning("{} no longer exists, so it is not sent to MLflow.", file.string());
    send_file(std::string(name), [&](const std::string& path) { api_->put_file(path, file); });
  }

  void flush() override {
    if (undescribed_) describe_run(*undescribed_);
    undescribed_.reset();
    while (!metrics_.empty()) send_slice();
  }

  void finish(const RunEnd& end) override {
    flush();
    if (!end.message.empty()) set_tag(message_tag, end.message);
    api_->post("runs/update", {{"run_id", run_},
                               {"status", ended_well(end.outcome)               ? "FINISHED"
                                          : end.outcome == Outcome::interrupted ? "KILLED"
                                                                                : "FAILED"},
                               {"end_time", milliseconds(end.wall_time)}});
  }

  std::optional<RecordedPoints> points(const RunFacts&, const std::vector<std::string>& metrics) override {
    connect();
    RecordedPoints found;
    understood([&] {
      if (!is_there()) return;
      for (const std::string& metric : metrics) found[metric] = api_->history(run_, names_.of(metric));
    });
    return found;
  }

  void hurry(double seconds) override {
    const std::lock_guard lock(hurrying_);
    if (api_) api_->hurry(seconds);
    hurry_ = seconds;
  }

 private:
  void connect() {
    const std::lock_guard lock(hurrying_);
    if (api_) return;
    api_.emplace(find_server(settings_));
    if (hurry_) api_->hurry(*hurry_);
  }

  template <class Call>
  void understood(Call call) {
    try {
      call();
    } catch (const Json::exception&) {
      throw TrackerUnavailable(api_->server() + " sent an incomplete response; is it an MLflow server?");
    }
  }

  // Not part of start(): the end of a short run waits for the call in progress, and this would add several
  // requests to it. If it is never called, the next process starts the run again.
  void describe_run(const RunFacts& facts) {
    understood([&] {
      send_params(facts.settings, keys_of(data_there_, "params"));
      if (keys_of(data_there_, "tags").contains(message_tag))
        api_->post("runs/delete-tag", {{"run_id", run_}, {"key", message_tag}});
    });
    if (known_) api_->post("runs/update", {{"run_id", run_}, {"status", "RUNNING"}});
    if (facts.resumed_at)
      set_tag("runner.resumed_at", std::to_string(std::max<std::int64_t>(*facts.resumed_at, 0)));
    if (!facts.recipe.empty()) upload("recipe.toml", facts.recipe);
  }

  // Removes the metrics only after the server has accepted them.
  void send_slice() {
    const std::size_t count = std::min(most_metrics, metrics_.size());
    api_->log_batch(run_, "metrics", std::span(metrics_).first(count));
    metrics_.erase(metrics_.begin(), metrics_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void set_tag(const char* name, const std::string& value) {
    api_->post("runs/set-tag", {{"run_id", run_}, {"key", name}, {"value", valid_utf8(value, longest_tag)}});
  }

  // Whether the server knows the id: it may be another server than before, or have lost its data.
  bool is_there() {
    if (run_.empty()) return false;
    try {
      data_there_ = data_of(api_->get_run(run_).at("run"));
      return true;
    } catch (const MlflowRefusal& refusal) {
      if (refusal.code != 404) throw;
      return false;
    }
  }

  // By its tag: an earlier request may have created the run although its response was lost.
  bool find_run(const RunFacts& facts) {
    experiment_ = find_or_create_experiment();
    const Json found = api_->post("runs/search", {{"experiment_ids", {experiment_}},
                                                  {"filter", "tags.`runner.id` = '" + facts.id + "'"},
                                                  {"max_results", 1}});
    if (!found.contains("runs") || found["runs"].empty()) return false;
    take(found["runs"][0]);
    return true;
  }

  void create_run(const RunFacts& facts) {
    Json tags = Json::array({{{"key", "runner.id"}, {"value", facts.id}},
                             {{"key", "runner.folder"}, {"value", facts.folder.string()}},
                             {{"key", "mlflow.source.name"}, {"value", "runner " RUNNER_VERSION}}});
    for (const std::string& tag : facts.tags) tags.push_back({{"key", names_.of(tag)}, {"value", "true"}});
    take(api_->post("runs/create", {{"experiment_id", experiment_},
                                    {"run_name", valid_utf8(facts.name, longest_name)},
                                    {"start_time", milliseconds(facts.started_at)},
                                    {"tags", tags}})
             .at("run"));
  }

  std::string find_or_create_experiment() {
    const auto find = [&] {
      return api_->get("experiments/get-by-name", "experiment_name", settings_.experiment).at("experiment");
    };
    try {
      return active(find());
    } catch (const MlflowRefusal& refusal) {
      if (refusal.code != 404) throw;
    }
    try {
      return api_->post("experiments/create", {{"name", settings_.experiment}}).at("experiment_id");
    } catch (const MlflowRefusal&) {
      return active(find());  // another process has just created it
    }
  }

  std::string active(const Json& experiment) const {
    if (experiment.value("lifecycle_stage", "active") != "active") {
      throw std::runtime_error("The experiment " + in_quotes(settings_.experiment) + " was deleted on " +
                               api_->server() + ": restore it there, or name another one.");
    }
    return experiment.at("experiment_id");
  }

  void take(const Json& run) {
    run_ = run.at("info").at("run_id");
    artifact_uri_ = run.at("info").value("artifact_uri", "");
    data_there_ = data_of(run);
  }

  static Json data_of(const Json& run) { return run.value("data", Json::object()); }

  static std::set<std::string> keys_of(const Json& data, const char* kind) {
    std::set<std::string> keys;
    for (const Json& item : data.value(kind, Json::array())) keys.insert(item.at("key"));
    return keys;
  }

  // MLflow keeps the first value of a parameter and rejects any other.
  void send_params(const std::vector<std::pair<std::string, Setting>>& settings,
                   const std::set<std::string>& there) {
    std::vector<Json> entries;
    for (const auto& [name, setting] : settings) {
      if (there.contains(names_.of(name))) continue;
      const std::string value = param_value(setting);
      if (value.size() > longest_value)
        log::warning("MLflow limits a parameter to {} bytes: {} is cut off.", longest_value, in_quotes(name));
      entries.push_back({{"key", names_.of(name)}, {"value", valid_utf8(value, longest_value)}});
    }
    const std::span<const Json> all(entries);
    for (std::size_t i = 0; i < all.size(); i += most_params)
      api_->log_batch(run_, "params", all.subspan(i, std::min(most_params, all.size() - i)));
  }

  bool takes_artifacts() {
    constexpr std::string_view served = "mlflow-artifacts:";
    if (!settings_.artifacts || artifact_uri_.starts_with(served)) return settings_.artifacts;
    log::warning(
        "MLflow stores artifacts at {}, which only MLflow's own client can write; no files are uploaded.",
        artifact_uri_);
    settings_.artifacts = false;
    return false;
  }

  // The path of "mlflow-artifacts:/1/<run>/artifacts", which the server's artifact API takes. The URI may
  // also name a server: "mlflow-artifacts://host:5000/1/..".
  std::string artifact_path(const std::string& name) const {
    const auto host = artifact_uri_.find("://");
    const auto root = artifact_uri_.find('/', host == std::string::npos ? 0 : host + 3);
    return artifact_uri_.substr(root + 1) + "/" + name;
  }

  void upload(const std::string& name, const std::string& bytes) {
    send_file(name, [&](const std::string& path) { api_->put(path, bytes); });
  }

  // A rejected file must not stop the rest. If the credentials are rejected, everything is kept for later.
  template <class Send>
  void send_file(const std::string& name, Send send) {
    if (!takes_artifacts()) return;
    try {
      send(artifact_path(name));
    } catch (const MlflowRefusal& refusal) {
      if (refusal.of_credentials()) throw;
      log::warning("MLflow rejected the file {}: {}", name, refusal.complaint);
    }
  }

  MLflow settings_;
  std::optional<MlflowApi> api_;
  std::mutex hurrying_;          // while another thread calls hurry()
  std::optional<double> hurry_;  // what it said
  std::string experiment_, run_, artifact_uri_;
  bool known_ = false;                   // the run exists on the server, from an earlier attempt
  Json data_there_;                      // its parameters and tags
  std::optional<RunFacts> undescribed_;  // what describe_run() still has to send
  std::vector<Json> metrics_;            // not yet sent
  MlflowNames names_;
};

// The credentials that find_server() takes.
Destination destination(const MLflow& settings) {
  const std::string own = environment_variable(uri_variable);
  const bool by_variable =
      settings.url.empty() || (!own.empty() && server_of(own) == server_of(settings.url));
  Destination destination{.server = settings.url.empty() ? own : settings.url,
                          .setting = by_variable ? "" : "url",
                          .named_by = by_variable ? uri_variable : ""};
  if (settings.token_file) {
    destination.secret_file = "token_file";
  } else if (!environment_variable(token_variable).empty()) {
    destination.secrets = {token_variable};
  } else if (settings.url.empty() && holds_password(own)) {
    destination.secrets = {uri_variable};
  } else if (!environment_variable(user_variable).empty()) {
    destination.secrets = {user_variable, password_variable};
  }
  return destination;
}

TrackerFacts facts(const MLflow& settings) {
  return {.remote = true, .images = true, .destination = destination(settings)};
}

std::unique_ptr<Tracker> build(const MLflow& settings, const TrackerInputs&) {
  return std::make_unique<MLflowRun>(settings);
}

const Registration<TrackerKind> registration{
    "mlflow", "A run on an MLflow server: parameters, metrics, tags, files and status.", &build};

}  // namespace
}  // namespace runner
