// An offline experiment of Comet: a zip archive of experiment.json and messages.json, for `comet upload`.
// During training, messages.json grows line by line; the archive is created at the end of the run. For a run
// that was killed, `runner track` creates it from the messages that exist.
#include <algorithm>
#include <fstream>

#include "components/trackers/append_file.hpp"
#include "components/trackers/cut_lines.hpp"
#include "components/trackers/json_number.hpp"
#include "components/trackers/place.hpp"
#include "components/trackers/tracker.hpp"
#include "components/trackers/tracker_files.hpp"
#include "components/trackers/wall_clock.hpp"
#include "components/trackers/zip_writer.hpp"
#include "registry/files/lines.hpp"
#include "registry/files/read_json.hpp"

namespace runner {
namespace {

using Json = nlohmann::ordered_json;

struct Comet {
  std::string project = "runner";
  std::string workspace;
};
constexpr auto describe(std::type_identity<Comet>) {
  return fields(field("project", &Comet::project, "The project the run belongs to.", non_empty()),
                field("workspace", &Comet::workspace, "The workspace; empty: the default of the account."));
}

constexpr const char *outcome_key = "Outcome", *message_key = "Message";

std::int64_t id_of(const Json& message) { return message.at("payload").at("message_id").get<std::int64_t>(); }

// Only messages of metrics have a step. How an earlier attempt ended is not kept in a resumed run.
std::optional<bool> is_kept(std::string_view line, const RunFacts& facts) {
  const Json message = read_json(line);
  const Json& payload = message.at("payload");
  if (const auto last = place_integer(facts, "messages"); last && id_of(message) > *last) return false;
  if (payload.contains("metric")) return facts.keeps(payload["metric"].at("step").get<std::int64_t>());
  const std::string key = payload.value("key", "");
  if (facts.resumed_at && (key == outcome_key || key == message_key)) return false;
  return std::nullopt;
}

// Comet separates the names of nested settings with "|".
std::string nested_name(std::string name) {
  std::ranges::replace(name, '.', '|');
  return name;
}

class CometExperiment : public Tracker {
 public:
  CometExperiment(Comet settings, std::filesystem::path folder)
      : settings_(std::move(settings)), folder_(std::move(folder)) {}

  void start(const RunFacts& facts) override {
    facts_ = facts;
    const std::filesystem::path path = folder_ / (facts.id + "-messages.json");
    if (facts.starts_over()) {
      std::filesystem::remove(path);
      std::filesystem::remove(archive_path());
    }
    const bool is_new = is_missing_or_empty(path);
    if (!is_new) take_up(path);
    file_ = AppendFile(path);
    if (!is_new) return;
    other("Name", facts.name);
    for (const auto& [name, setting] : facts.settings) {
      add("parameter_msg", {{"local_timestamp", milliseconds(facts.started_at)},
                            {"param",
                             {{"paramName", nested_name(name)},
                              {"paramValue", json_setting(setting)},
                              {"step", nullptr},
                              {"source", "manual"}}}});
    }
    flush();
  }

  void log(const Record& record) override {
    for (const auto& [name, value] : record.values) {
      add("metric_msg", {{"local_timestamp", milliseconds(record.wall_time)},
                         {"metric",
                          {{"metricName", name},
                           {"metricValue", json_number(value)},
                           {"step", record.step},
                           {"epoch", static_cast<std::int64_t>(record.epoch)}}}});
    }
  }

  void text(std::string_view tag, std::string_view text, std::int64_t) override { other(tag, text); }

  void flush() override { file_.append(std::exchange(waiting_, {})); }

  std::optional<RecordedPoints> points(const RunFacts& facts, const std::vector<std::string>&) override {
    RecordedPoints found;
    std::ifstream in(folder_ / (facts.id + "-messages.json"), std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      const nlohmann::json message = read_json_or_null(line);
      if (!message.is_object() || message.value("type", "") != "metric_msg") continue;
      const auto& metric = message.at("payload").at("metric");
      ++found[metric.at("metricName").get<std::string>()][metric.at("step").get<std::int64_t>()];
    }
    return found;
  }

  State place() const override { return {.integers = {{"messages", messages_}}}; }

  void finish(const RunEnd& end) override {
    other(outcome_key, name_of(end.outcome));
    if (!end.message.empty()) other(message_key, end.message);
    flush();
    ZipWriter archive(archive_path());
    archive.add("experiment.json", json_text(experiment(end)));
    archive.add_file("messages.json", file_.path());
    archive.finish();
  }

 private:
  std::filesystem::path archive_path() const { return folder_ / (facts_.id + ".zip"); }

  void take_up(const std::filesystem::path& path) {
    cut_unfinished_line(path);
    cut_lines(path, [&](const BackwardLines::Line& line) { return is_kept(line.text, facts_); });
    BackwardLines lines(path);
    if (const auto last = lines.next()) messages_ = id_of(read_json(last->text));
  }

  Json experiment(const RunEnd& end) const {
    return {{"offline_id", facts_.id},
            {"project_name", settings_.project},
            {"workspace", settings_.workspace.empty() ? Json(nullptr) : Json(settings_.workspace)},
            {"start_time", milliseconds(facts_.started_at)},
            {"stop_time", milliseconds(end.wall_time)},
            {"tags", facts_.tags},
            {"resume_strategy", "create"}};
  }

  void other(std::string_view key, std::string_view value) {
    add("log_other", {{"key", key}, {"value", value}});
  }

  void add(const char* type, Json payload) {
    payload["message_id"] = ++messages_;
    waiting_ += json_text(Json{{"type", type}, {"payload", std::move(payload)}}) + "\n";
  }

  Comet settings_;
  std::filesystem::path folder_;
  RunFacts facts_;
  AppendFile file_;
  std::string waiting_;
  std::int64_t messages_ = 0;
};

TrackerFacts facts(const Comet&) { return {.writes_files = true}; }

std::unique_ptr<Tracker> build(const Comet& settings, const TrackerInputs& inputs) {
  return std::make_unique<CometExperiment>(settings, inputs.folder_or("comet"));
}

const Registration<TrackerKind> registration{
    "comet", "Comet: an offline experiment as a zip archive, for `comet upload`.", &build};

}  // namespace
}  // namespace runner
