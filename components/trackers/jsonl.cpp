// metrics.jsonl: one JSON object a line, {"step": .., "epoch": .., "time": .., "train/loss": ..}. What is not
// finite is a string: "NaN", "Infinity", "-Infinity".
#include <string>

#include "components/trackers/support/append_file.hpp"
#include "components/trackers/support/json_number.hpp"
#include "components/trackers/support/keep_lines.hpp"
#include "components/trackers/tracker.hpp"

namespace runner {
namespace {

using Json = nlohmann::ordered_json;

// Of a line of this tracker: every one begins with it.
bool is_up_to(std::string_view line, std::int64_t step) {
  constexpr std::string_view start = "{\"step\":";
  return !line.starts_with(start) || leading_integer(line.substr(start.size())) <= step;
}

class JsonLines : public Tracker {
 public:
  explicit JsonLines(std::filesystem::path path) : path_(std::move(path)) {}

  void start(const RunFacts& facts) override {
    cut_unfinished_line(path_);
    if (facts.resumed_at)
      keep_lines(path_, [&](std::string_view line) { return is_up_to(line, *facts.resumed_at); });
    file_ = AppendFile(path_);
  }

  void log(const Record& record) override {
    Json line = {
        {"step", record.step}, {"epoch", json_number(record.epoch)}, {"time", json_number(record.time)}};
    for (const auto& [name, value] : record.values) line[name] = json_number(value);
    file_.append(json_text(line) + "\n");
  }

 private:
  std::filesystem::path path_;
  AppendFile file_;
};

struct Jsonl {};
constexpr auto describe(std::type_identity<Jsonl>) { return fields(); }

std::unique_ptr<Tracker> build(const Jsonl&, const TrackerInputs& in) {
  return std::make_unique<JsonLines>(in.folder / "metrics.jsonl");
}

const Registration<TrackerKind> registration{
    "jsonl", "metrics.jsonl in the run folder, one JSON object a line. Always on: no recipe has to name it.",
    &build};

}  // namespace
}  // namespace runner
