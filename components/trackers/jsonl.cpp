// metrics.jsonl: one JSON object per line, {"step": .., "epoch": .., "time": .., "train/loss": ..}. What is
// not finite is a string: "NaN", "Infinity", "-Infinity". texts.jsonl, where there are texts: {"step": ..,
// "tag":
// .., "text": ..}.
#include <string>

#include "components/trackers/support/append_file.hpp"
#include "components/trackers/support/cut_lines.hpp"
#include "components/trackers/support/json_number.hpp"
#include "components/trackers/tracker.hpp"

namespace runner {
namespace {

using Json = nlohmann::ordered_json;

// Every line of this tracker starts with its step.
std::optional<std::int64_t> step_of(std::string_view line) {
  constexpr std::string_view start = "{\"step\":";
  return line.starts_with(start) ? leading_integer(line.substr(start.size())) : std::nullopt;
}

class JsonLines : public Tracker {
 public:
  explicit JsonLines(const std::filesystem::path& folder)
      : metrics_path_(folder / "metrics.jsonl"), texts_path_(folder / "texts.jsonl") {}

  void start(const RunFacts& facts) override {
    for (const auto& path : {metrics_path_, texts_path_}) {
      cut_unfinished_line(path);
      if (facts.resumed_at) cut_lines(path, step_of, [&](std::int64_t step) { return facts.keeps(step); });
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

 private:
  std::filesystem::path metrics_path_, texts_path_;
  AppendFile metrics_;
};

struct Jsonl {};
constexpr auto describe(std::type_identity<Jsonl>) { return fields(); }

std::unique_ptr<Tracker> build(const Jsonl&, const TrackerInputs& in) {
  return std::make_unique<JsonLines>(in.folder);
}

const Registration<TrackerKind> registration{
    "jsonl",
    "metrics.jsonl in the run folder, one JSON object per line. Always on: no recipe has to name it.",
    &build};

}  // namespace
}  // namespace runner
