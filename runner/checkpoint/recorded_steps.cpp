#include "runner/checkpoint/recorded_steps.hpp"

#include "registry/base/wording.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/lines.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

using Json = nlohmann::json;

namespace {

bool depends_on_speed(const std::string& name) { return name == "time" || name.starts_with("perf/"); }

std::string difference_text(const std::string& name, const std::string& place, const Json& recorded,
                            const Json& replayed) {
  return escaped_name(name) + " at " + place + ": recorded " + recorded.dump() + ", recomputed " +
         replayed.dump();
}

}  // namespace

RecordedSteps recorded_steps(const std::filesystem::path& run_folder, double after, std::int64_t until) {
  RecordedSteps recorded;
  const std::filesystem::path path = run_folder / "metrics.jsonl";
  if (is_missing(path)) return recorded;
  const OpenFile file(path);
  Lines lines(file);
  while (const auto line = lines.next()) {
    const Json record = read_json_or_null(*line);
    if (!record.is_object() || !record.contains("step") || !record["step"].is_number_integer()) continue;
    if (!record.contains("epoch") || !record["epoch"].is_number()) continue;
    const auto step = record["step"].get<std::int64_t>();
    const auto epoch = record["epoch"].get<double>();
    if (epoch <= after || step > until) continue;
    for (const auto& [name, value] : record.items())
      if (!depends_on_speed(name)) recorded.values[epoch][name] = value;
    recorded.epochs.emplace(step, epoch);
    if (record.contains("time") && record["time"].is_number()) recorded.times.emplace(step, record["time"]);
  }
  return recorded;
}

RecordComparison compare_records(const RecordedSteps& recorded, const RecordedSteps& replayed) {
  RecordComparison result;
  for (const auto& [epoch, values] : recorded.values) {
    const Json& step = values.at("step");
    const auto again = replayed.values.find(epoch);
    if (again == replayed.values.end()) {
      const auto other = replayed.epochs.find(step.get<std::int64_t>());
      if (other == replayed.epochs.end() || recorded.values.contains(other->second)) continue;
      if (recorded.epochs.at(other->first) != epoch) continue;
      result.first_difference = difference_text("epoch", "step " + step.dump(), epoch, other->second);
      return result;
    }
    ++result.compared;
    for (const auto& [name, value] : values) {
      const auto now = again->second.find(name);
      if (now == again->second.end() || now->second == value) continue;
      const std::string place = name == "step" ? "epoch " + Json(epoch).dump() : "step " + step.dump();
      result.first_difference = difference_text(name, place, value, now->second);
      return result;
    }
  }
  return result;
}

}  // namespace runner
