// A run in the format that W&B's own library writes offline: wandb/offline-run-<time>-<id>/ with a log of
// protobuf records (run, metric, history, summary, exit), which `wandb sync` uploads. Each of our records is
// a row of the history. Two records may have the same step, but W&B needs a unique step per row, so the rows
// are numbered and each metric declares "step" as its x axis. Field numbers are those of W&B's
// wandb_internal.proto. A resumed run continues the same file, without the rows after the checkpoint.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <protozero/pbf_reader.hpp>

#include "components/trackers/chunk_log.hpp"
#include "components/trackers/json_number.hpp"
#include "components/trackers/place.hpp"
#include "components/trackers/protobuf.hpp"
#include "components/trackers/syncer.hpp"
#include "components/trackers/tracker.hpp"
#include "components/trackers/tracker_files.hpp"
#include "components/trackers/wall_clock.hpp"
#include "registry/files/sha256.hpp"

namespace runner {
namespace {

using Message = protozero::pbf_writer;
using Json = nlohmann::ordered_json;

constexpr std::string_view file_header{":W&B\xE1\xBE\0", 7};
enum Field : protozero::pbf_tag_type {
  num = 1,
  history = 2,
  summary = 3,
  files = 6,
  metric = 12,
  run = 17,
  exit_ = 18,
  header = 21
};

struct WeightsAndBiases {
  std::string project = "runner";
  std::string entity;
  std::string notes;
  SyncMode mode = SyncMode::offline;
};
constexpr auto describe(std::type_identity<WeightsAndBiases>) {
  return fields(
      field("project", &WeightsAndBiases::project, "The project the run belongs to.", non_empty()),
      field("entity", &WeightsAndBiases::entity, "The user or team; empty: the default of the account."),
      field("notes", &WeightsAndBiases::notes, "Notes on this run."),
      field("mode", &WeightsAndBiases::mode, "When the run is uploaded."));
}

// W&B accepts NaN and Infinity, as Python's json module writes them.
std::string value_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return json_text(value);
}

std::string setting_json(const Setting& setting) {
  if (const auto* number = std::get_if<double>(&setting)) return value_json(*number);
  return json_text(json_setting(setting));
}

// Adds an item (name and JSON value) to a history, a summary or a config.
void add_item(Message& parent, std::string_view key, std::string_view json) {
  Message item(parent, 1);
  add_text(item, 1, key);
  item.add_string(16, json.data(), json.size());
}

using Row = std::vector<std::pair<std::string, std::string>>;  // names and JSON values

// The items of a history record; empty for any other record.
Row row_of(std::string_view record) {
  Row row;
  protozero::pbf_reader reader(record.data(), record.size());
  if (!reader.next(Field::history)) return row;
  protozero::pbf_reader items = reader.get_message();
  while (items.next(1)) {
    protozero::pbf_reader item = items.get_message();
    std::string key, json;
    while (item.next()) {
      if (item.tag() == 1)
        key = item.get_string();
      else if (item.tag() == 16)
        json = item.get_string();
      else
        item.skip();
    }
    row.emplace_back(std::move(key), std::move(json));
  }
  return row;
}

bool has_field(std::string_view record, Field field) {
  return protozero::pbf_reader(record.data(), record.size()).next(field);
}

bool is_kept(std::string_view record, const RunFacts& facts) {
  if (has_field(record, Field::exit_) || has_field(record, Field::summary)) return false;
  std::optional<std::int64_t> step;
  double epoch = 0;  // texts, images and histograms have none
  for (const auto& [name, json] : row_of(record)) {
    if (name == "step") step = std::stoll(json);
    if (name == "epoch") epoch = std::stod(json);
  }
  return !step || facts.keeps(*step, epoch);
}

class WandbRun : public Tracker {
 public:
  WandbRun(WeightsAndBiases settings, std::filesystem::path folder)
      : settings_(std::move(settings)), parent_(std::move(folder)) {}

  void start(const RunFacts& facts) override {
    name(facts);
    std::filesystem::create_directories(folder_ / "files");
    const std::filesystem::path path = log_file();
    if (facts.starts_over()) {
      std::filesystem::remove(path);
      std::filesystem::remove_all(folder_ / "files" / "media");
    }
    const bool is_new = is_missing_or_empty(path);
    if (!is_new) take_up(path, facts);
    log_.emplace(path, file_header);
    if (is_new) begin(facts);
    log_->flush();
    if (settings_.mode == SyncMode::live) refuse_settings_of_folder();
    if (settings_.mode == SyncMode::live)
      syncer_.start({"wandb", "beta", "sync", "--live", "--yes", folder_.string()}, parent_,
                    folder_ / "sync.log");
  }

  void log(const Record& record) override {
    Row row{{"epoch", value_json(record.epoch)}};
    for (const auto& [name, value] : record.values) row.emplace_back(name, value_json(value));
    add_row(record.step, record.time, record.wall_time, std::move(row));
  }

  void text(std::string_view tag, std::string_view text, std::int64_t step) override {
    add_media(tag, json_text(text), step);
  }

  void image(std::string_view tag, const Picture& image, std::int64_t step) override {
    const std::string sum = sha256_hex(image.png);
    const std::string path =
        "media/images/" + file_name_of(tag) + "_" + std::to_string(rows_) + "_" + sum.substr(0, 20) + ".png";
    write_file(folder_ / "files" / path, image.png);
    constexpr int now = 0, media = 2;
    add_file(path, now, media);
    add_media(tag,
              json_text(Json{{"_type", "image-file"},
                             {"sha256", sum},
                             {"size", image.png.size()},
                             {"path", path},
                             {"format", "png"},
                             {"width", image.width},
                             {"height", image.height}}),
              step);
  }

  void histogram(std::string_view tag, const Histogram& histogram, std::int64_t step) override {
    std::vector<double> edges{histogram.min};
    edges.insert(edges.end(), histogram.limits.begin(), histogram.limits.end());
    add_media(tag, json_text(Json{{"_type", "histogram"}, {"values", histogram.counts}, {"bins", edges}}),
              step);
  }

  void flush() override { log_->flush(); }

  std::optional<RecordedPoints> points(const RunFacts& facts, const std::vector<std::string>&) override {
    name(facts);
    RecordedPoints found;
    if (is_missing_or_empty(log_file())) return found;
    read_chunk_log(log_file(), file_header, [&](std::string_view record) {
      const Row row = row_of(record);
      const auto step = std::ranges::find(row, "step", &Row::value_type::first);
      if (step == row.end()) return;
      const std::int64_t at = std::stoll(step->second);
      for (const auto& [key, json] : row) ++found[key][at];
    });
    return found;
  }

  State place() const override { return {.integers = {{"records", log_->records()}}}; }

  void finish(const RunEnd& end) override {
    add_record(Field::summary, [&](Message& message) {
      for (const auto& [name, json] : last_) add_item(message, name, json);
    });
    add_record(Field::exit_, [&](Message& message) {
      constexpr int success = 0, failure = 1, interrupted = 255;  // as W&B's own library reports them
      message.add_int32(1, ended_well(end.outcome)               ? success
                           : end.outcome == Outcome::interrupted ? interrupted
                                                                 : failure);
      message.add_int32(2, static_cast<std::int32_t>(runtime_));
    });
    log_->flush();
    constexpr double patience = 30;
    syncer_.wait(patience);
  }

 private:
  // W&B's program takes its server from such a file where it is started, and sends the key there.
  void refuse_settings_of_folder() const {
    const std::filesystem::path settings = parent_ / "wandb" / "settings";
    if (std::filesystem::exists(std::filesystem::symlink_status(settings)))
      throw std::runtime_error(settings.string() +
                               " could name another server for the key of W&B: remove this file.");
  }

  void name(const RunFacts& facts) {
    id_ = facts.id.substr(0, 16);
    folder_ = std::filesystem::absolute(parent_) / "wandb" /
              ("offline-run-" + time_for_name(facts.started_at) + "-" + id_);
  }
  std::filesystem::path log_file() const { return folder_ / ("run-" + id_ + ".wandb"); }

  // Restores from the file: the number of rows, the last value of each metric, and which are declared.
  void take_up(const std::filesystem::path& path, const RunFacts& facts) {
    const auto last = place_integer(facts, "records");
    keep_records(path, file_header, [&](std::string_view record, std::int64_t index) {
      return (!last || index < *last) && is_kept(record, facts);
    });
    read_chunk_log(path, file_header, [&](std::string_view record) {
      ++records_;
      const Row row = row_of(record);
      if (!row.empty()) ++rows_;
      for (const auto& [name, json] : row) {
        last_[name] = json;
        if (name == "_runtime") runtime_ = std::stod(json);
        declared_.insert(name);
      }
    });
  }

  void begin(const RunFacts& facts) {
    add_record(Field::header, [](Message& message) {
      Message version(message, 1);
      version.add_string(1, "runner " RUNNER_VERSION);
    });
    add_record(Field::run, [&](Message& message) {
      message.add_string(1, id_);
      if (!settings_.entity.empty()) add_text(message, 2, settings_.entity);
      add_text(message, 3, settings_.project);
      {
        Message config(message, 4);
        for (const auto& [name, setting] : facts.settings) add_item(config, name, setting_json(setting));
      }
      add_text(message, 8, facts.name);
      if (!settings_.notes.empty()) add_text(message, 9, settings_.notes);
      for (const std::string& tag : facts.tags) add_text(message, 10, tag);
      add_timestamp(message, 17, facts.started_at);
    });
    if (!facts.recipe.empty()) {
      constexpr int at_the_end = 1, other = 0;
      write_file(folder_ / "files" / "recipe.toml", facts.recipe);
      add_file("recipe.toml", at_the_end, other);
    }
  }

  void add_media(std::string_view tag, std::string json, std::int64_t step) {
    add_row(step, runtime_, wall_clock(), {{std::string(tag), std::move(json)}});
  }

  void add_row(std::int64_t step, double runtime, double wall_time, Row row) {
    row.emplace_back("step", std::to_string(step));
    for (const auto& [name, json] : row) declare(name);
    runtime_ = runtime;
    row.emplace_back("_step", std::to_string(rows_));
    row.emplace_back("_runtime", value_json(runtime));
    row.emplace_back("_timestamp", value_json(wall_time));
    add_record(Field::history, [&](Message& message) {
      for (const auto& [name, json] : row) add_item(message, name, json);
      Message number(message, 2);
      number.add_int64(1, rows_);
    });
    ++rows_;
    for (auto& [name, json] : row) last_[name] = std::move(json);
  }

  void declare(const std::string& name) {
    if (!declared_.insert(name).second) return;
    add_record(Field::metric, [&](Message& message) {
      add_text(message, 1, name);
      if (name != "step") message.add_string(4, "step");
      Message options(message, 6);
      options.add_bool(1, true);  // the step is in every row
      options.add_bool(3, true);  // explicitly declared
    });
  }

  void add_file(const std::string& name, int policy, int type) {
    add_record(Field::files, [&](Message& message) {
      Message file(message, 1);
      file.add_string(1, name);
      file.add_enum(2, policy);
      file.add_enum(3, type);
    });
  }

  template <class Fill>
  void add_record(Field field, Fill fill) {
    std::string bytes;
    Message record(bytes);
    record.add_int64(Field::num, ++records_);
    {
      Message message(record, field);
      fill(message);
    }
    log_->add(bytes);
  }

  WeightsAndBiases settings_;
  std::filesystem::path parent_, folder_;
  std::string id_;
  std::optional<ChunkLog> log_;
  Syncer syncer_{"W&B", "pip install wandb"};
  std::int64_t records_ = 0, rows_ = 0;
  double runtime_ = 0;
  std::set<std::string> declared_;
  std::map<std::string, std::string> last_;  // value of each metric, as JSON, for the summary
};

TrackerFacts facts(const WeightsAndBiases& settings) {
  return {.images = true,
          .writes_files = true,
          .destination = vendor_destination(settings.mode, "wandb", "WANDB_BASE_URL", "https://api.wandb.ai",
                                            "WANDB_API_KEY")};
}

std::unique_ptr<Tracker> build(const WeightsAndBiases& settings, const TrackerInputs& inputs) {
  return std::make_unique<WandbRun>(settings, inputs.folder_or(""));
}

const Registration<TrackerKind> registration{
    "wandb",
    "Weights & Biases: an offline run in its own format, for `wandb sync`, or uploaded while training.",
    &build};

}  // namespace
}  // namespace runner
