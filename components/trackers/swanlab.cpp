// A run in the format that SwanLab's own library writes offline: <folder>/run-<time>-<id>/ with a log of
// protobuf records, which `swanlab sync` uploads. File version 2, which SwanLab 0.10 reads; the field numbers
// are those of its swanlab/*/v1/*.proto. A resumed run continues the same file, after the records that follow
// the checkpoint are removed.
#include <chrono>
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
#include "registry/base/log.hpp"
#include "registry/files/sha256.hpp"

namespace runner {
namespace {

using Message = protozero::pbf_writer;

constexpr std::string_view file_header{":SWL\xD6\xE1\x02", 7};
enum Field : protozero::pbf_tag_type {
  num = 1,
  timestamp = 2,
  start_ = 10,
  finish_ = 11,
  column = 12,
  scalar = 13,
  media = 14,
  save_ = 20
};
enum ColumnType { number = 1, picture = 2, words = 4 };

struct SwanLab {
  std::string project = "runner";
  std::string workspace;
  std::string description;
  SyncMode mode = SyncMode::offline;
};
constexpr auto describe(std::type_identity<SwanLab>) {
  return fields(field("project", &SwanLab::project, "The project the run belongs to.", non_empty()),
                field("workspace", &SwanLab::workspace, "The workspace; empty: the default of the account."),
                field("description", &SwanLab::description, "Notes on this run."),
                field("mode", &SwanLab::mode, "When the run is uploaded."));
}

// The message in this field of a record; nothing if the record is of another type.
std::optional<protozero::pbf_reader> message_of(std::string_view record, Field field) {
  protozero::pbf_reader reader(record.data(), record.size());
  if (!reader.next(field)) return std::nullopt;
  return reader.get_message();
}

bool is_kept(std::string_view record, const RunFacts& facts) {
  if (message_of(record, Field::finish_)) return false;
  for (const Field field : {Field::scalar, Field::media}) {
    if (auto data = message_of(record, field)) return !data->next(2) || facts.keeps(data->get_int64());
  }
  return true;
}

class SwanLabRun : public Tracker {
 public:
  SwanLabRun(SwanLab settings, std::filesystem::path folder)
      : settings_(std::move(settings)), parent_(std::move(folder)) {}

  void start(const RunFacts& facts) override {
    name(facts);
    std::filesystem::create_directories(folder_ / "files");
    const std::filesystem::path path = log_file();
    if (facts.starts_over()) {
      std::filesystem::remove(path);
      std::filesystem::remove_all(folder_ / "media");
    }
    const bool is_new = is_missing_or_empty(path);
    if (!is_new) take_up(path, facts);
    log_.emplace(path, file_header);
    if (is_new) begin(facts);
    log_->flush();
    last_sync_ = Clock::now();
  }

  void log(const Record& record) override {
    for (const auto& [name, value] : record.values) {
      declare(name, ColumnType::number);
      add_record(Field::scalar, ++records_, [&, &key = name, &measured = value](Message& message) {
        begin_data(message, key, record.step, ColumnType::number, record.wall_time);
        Message data(message, 5);
        data.add_double(1, measured);
      });
    }
  }

  void text(std::string_view tag, std::string_view text, std::int64_t step) override {
    add_media(tag, text, step, ColumnType::words, "text", ".txt");
  }

  void image(std::string_view tag, const Picture& image, std::int64_t step) override {
    add_media(tag, image.png, step, ColumnType::picture, "image", ".png");
  }

  void flush() override {
    log_->flush();
    constexpr auto between_syncs = std::chrono::minutes(1);
    if (settings_.mode == SyncMode::live && Clock::now() - last_sync_ > between_syncs && !syncer_.running())
      sync();
  }

  std::optional<RecordedPoints> points(const RunFacts& facts, const std::vector<std::string>&) override {
    name(facts);
    RecordedPoints found;
    if (is_missing_or_empty(log_file())) return found;
    read_chunk_log(log_file(), file_header, [&](std::string_view record) {
      auto data = message_of(record, Field::scalar);
      if (!data) return;
      std::string key;
      std::int64_t step = 0;
      while (data->next()) {
        if (data->tag() == 1)
          key = data->get_string();
        else if (data->tag() == 2)
          step = data->get_int64();
        else
          data->skip();
      }
      ++found[key][step];
    });
    return found;
  }

  State place() const override { return {.integers = {{"records", log_->records()}}}; }

  void finish(const RunEnd& end) override {
    enum { finished = 1, crashed = 2, aborted = 3 };
    add_record(Field::finish_, -2, [&](Message& message) {
      message.add_enum(1, ended_well(end.outcome)               ? finished
                          : end.outcome == Outcome::interrupted ? aborted
                                                                : crashed);
      if (!end.message.empty()) add_text(message, 2, end.message);
      add_timestamp(message, 3, end.wall_time);
    });
    log_->flush();
    if (settings_.mode != SyncMode::live) return;
    constexpr double patience = 30;
    if (!syncer_.wait(patience)) {  // two uploads of the same folder must not run at the same time
      return log::warning(
          "The end of the run is not uploaded. When the upload in the background has ended, run: swanlab "
          "sync {}",
          folder_.string());
    }
    sync();
    syncer_.wait(patience);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void name(const RunFacts& facts) {
    id_ = facts.id.substr(0, 21);  // the length of SwanLab's own ids
    folder_ = std::filesystem::absolute(parent_) / ("run-" + time_for_name(facts.started_at) + "-" + id_);
  }
  std::filesystem::path log_file() const { return folder_ / ("run-" + id_ + ".swanlab"); }

  void take_up(const std::filesystem::path& path, const RunFacts& facts) {
    const auto last = place_integer(facts, "records");
    keep_records(path, file_header, [&](std::string_view record, std::int64_t index) {
      return (!last || index < *last) && is_kept(record, facts);
    });
    read_chunk_log(path, file_header, [&](std::string_view record) {
      ++records_;
      if (auto described = message_of(record, Field::column)) {
        if (described->next(3)) declared_.insert(described->get_string());
      }
    });
  }

  void begin(const RunFacts& facts) {
    add_record(Field::start_, -1, [&](Message& message) {
      add_text(message, 1, settings_.project);
      if (!settings_.workspace.empty()) add_text(message, 2, settings_.workspace);
      add_text(message, 4, facts.name);
      if (!settings_.description.empty()) add_text(message, 5, settings_.description);
      for (const std::string& tag : facts.tags) add_text(message, 6, tag);
      message.add_string(10, id_);
      add_timestamp(message, 12, facts.started_at);
    });
    if (facts.settings.empty()) return;
    const std::filesystem::path path = write_config(facts);
    add_record(Field::save_, -3, [&](Message& message) {
      constexpr int config = 1;
      message.add_string(1, "config");
      message.add_string(2, path.string());
      message.add_enum(5, config);
    });
  }

  // JSON is valid YAML.
  std::filesystem::path write_config(const RunFacts& facts) const {
    const std::filesystem::path path = folder_ / "files" / "config.yaml";
    std::string yaml;
    int sort = 0;
    for (const auto& [name, setting] : facts.settings) {
      const nlohmann::ordered_json entry{{"desc", ""}, {"sort", sort++}, {"value", json_setting(setting)}};
      yaml += json_text(name) + ": " + json_text(entry) + "\n";
    }
    write_file(path, yaml);
    return path;
  }

  void add_media(std::string_view tag, std::string_view bytes, std::int64_t step, ColumnType type,
                 const char* kind, const char* ending) {
    const std::string name = file_name_of(tag) + "-" + std::to_string(step) + ending;
    const std::filesystem::path path = folder_ / "media" / kind / name;
    write_file(path, bytes);
    declare(std::string(tag), type);
    add_record(Field::media, ++records_, [&](Message& message) {
      begin_data(message, tag, step, type, wall_clock());
      Message media(message, 5);
      Message item(media, 1);
      item.add_string(1, name);
      item.add_string(2, sha256_hex(bytes));
      item.add_int64(3, static_cast<std::int64_t>(bytes.size()));
    });
  }

  void declare(const std::string& name, ColumnType type) {
    if (!declared_.insert(name).second) return;
    add_record(Field::column, ++records_, [&](Message& message) {
      constexpr int custom = 1, shown = 3;
      message.add_enum(1, custom);
      message.add_enum(2, type);
      add_text(message, 3, name);
      add_text(message, 5, name.find('/') == std::string::npos ? "default" : name.substr(0, name.find('/')));
      message.add_enum(6, shown);
    });
  }

  static void begin_data(Message& message, std::string_view key, std::int64_t step, ColumnType type,
                         double at) {
    add_text(message, 1, key);
    message.add_int64(2, step);
    message.add_enum(3, type);
    add_timestamp(message, 4, at);
  }

  template <class Fill>
  void add_record(Field field, std::int64_t number_, Fill fill) {
    std::string bytes;
    Message record(bytes);
    record.add_int64(Field::num, number_);
    add_timestamp(record, Field::timestamp, wall_clock());
    {
      Message message(record, field);
      fill(message);
    }
    log_->add(bytes);
  }

  void sync() {
    last_sync_ = Clock::now();
    syncer_.start({"swanlab", "sync", folder_.string()}, folder_, folder_ / "sync.log");
  }

  SwanLab settings_;
  std::filesystem::path parent_, folder_;
  std::string id_;
  std::optional<ChunkLog> log_;
  Syncer syncer_{"SwanLab", "pip install swanlab"};
  Clock::time_point last_sync_;
  std::int64_t records_ = 0;
  std::set<std::string> declared_;
};

TrackerFacts facts(const SwanLab& settings) {
  return {.images = true,
          .writes_files = true,
          .destination = vendor_destination(settings.mode, "swanlab", "SWANLAB_API_HOST",
                                            "https://api.swanlab.cn", "SWANLAB_API_KEY")};
}

std::unique_ptr<Tracker> build(const SwanLab& settings, const TrackerInputs& inputs) {
  return std::make_unique<SwanLabRun>(settings, inputs.folder_or("swanlog"));
}

const Registration<TrackerKind> registration{
    "swanlab", "SwanLab: an offline run in its own format, for `swanlab sync`, or uploaded while training.",
    &build};

}  // namespace
}  // namespace runner
