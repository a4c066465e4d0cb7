// metrics.jsonl: one JSON object per line, {"step": .., "epoch": .., "time": .., "train/loss": ..}. Numbers
// that are not finite are strings: "NaN", "Infinity", "-Infinity". texts.jsonl, only if something logs
// text: {"step": .., "tag": .., "text": ..}.
#include <string>
#include <system_error>
#include <utility>

#include "components/trackers/append_file.hpp"
#include "components/trackers/cut_lines.hpp"
#include "components/trackers/json_number.hpp"
#include "components/trackers/place.hpp"
#include "components/trackers/tracker.hpp"
#include "registry/files/read_json.hpp"

namespace runner {
namespace {

using Json = nlohmann::ordered_json;

// Nothing if the line is not from this tracker. Texts have no epoch. `size` is that of the file when the
// checkpoint was taken; it decides about lines of the checkpoint's step, because only they may be on both
// sides of it.
std::optional<bool> is_kept(const BackwardLines::Line& line, const RunFacts& facts,
                            std::optional<std::int64_t> size) {
  const nlohmann::json record = read_json_or_null(line.text);
  if (!record.is_object()) return std::nullopt;
  const auto step = record.find("step"), epoch = record.find("epoch");
  if (step == record.end() || !step->is_number_integer()) return std::nullopt;
  const auto at = step->get<std::int64_t>();
  if (at == facts.resumed_at && size && std::cmp_greater_equal(line.offset, *size)) return false;
  if (epoch == record.end() || !epoch->is_number()) return facts.keeps(at);
  return facts.keeps(at, epoch->get<double>());
}

std::int64_t size_of(const std::filesystem::path& file) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(file, missing);
  return missing ? 0 : static_cast<std::int64_t>(size);
}

class JsonLines : public Tracker {
 public:
  explicit JsonLines(const std::filesystem::path& folder)
      : metrics_path_(folder / "metrics.jsonl"), texts_path_(folder / "texts.jsonl") {}

  void start(const RunFacts& facts) override {
    for (const auto& path : {metrics_path_, texts_path_}) {
      cut_unfinished_line(path);
      if (!facts.resumed_at) continue;
      const auto size = place_integer(facts, path.filename().string());
      cut_lines(path, [&](const BackwardLines::Line& line) { return is_kept(line, facts, size); });
    }
    metrics_ = AppendFile(metrics_path_);
  }

  void log(const Record& record) override {
    Json line = {
        {"step", record.step}, {"epoch", json_number(record.epoch)}, {"time", json_number(record.time)}};
    for (const auto& [name, value] : record.values) line[name] = json_number(value);
    metrics_.append(json_text(line) + "\n");
  }

  void text(std::string_view tag, std::string_view text, std::int64_t step) override {
    AppendFile(texts_path_).append(json_text({{"step", step}, {"tag", tag}, {"text", text}}) + "\n");
  }

  State place() const override {
    return {.integers = {{metrics_path_.filename().string(), metrics_.size()},
                         {texts_path_.filename().string(), size_of(texts_path_)}}};
  }

 private:
  std::filesystem::path metrics_path_, texts_path_;
  AppendFile metrics_;
};

struct Jsonl {};
constexpr auto describe(std::type_identity<Jsonl>) { return fields(); }

std::unique_ptr<Tracker> build(const Jsonl&, const TrackerInputs& inputs) {
  return std::make_unique<JsonLines>(inputs.folder);
}

const Registration<TrackerKind> registration{
    "jsonl",
    "metrics.jsonl in the run folder, one JSON object per line. Always on: no recipe has to name it.",
    &build};

}  // namespace
}  // namespace runner
