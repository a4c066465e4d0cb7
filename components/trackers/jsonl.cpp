// metrics.jsonl: one JSON object a line, {"step": .., "epoch": .., "time": .., "train/loss": ..}. JSON has no
// number for them, so what is not finite is a string that Python's float() and JavaScript's Number() take:
// "NaN", "Infinity",
// "-Infinity"; a null would not say which.
#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "components/trackers/support/append_file.hpp"
#include "components/trackers/tracker.hpp"

namespace runner {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

class JsonLines : public Tracker {
 public:
  explicit JsonLines(std::filesystem::path path) : path_(std::move(path)) {}

  void start(const RunFacts&) override {
    cut_unfinished_line(path_);
    file_ = AppendFile(path_);
  }

  void log(const Record& record) override {
    Json line = {{"step", record.step}, {"epoch", number(record.epoch)}, {"time", number(record.time)}};
    for (const auto& [name, value] : record.values) line[name] = number(value);
    file_.append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
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
