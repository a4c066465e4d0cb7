#include "runner/runs/tracking/missing.hpp"

#include <algorithm>

#include "runner/runs/metrics_file.hpp"

namespace runner {

std::vector<Record> missing_records(Tracker& tracker, const RunFacts& facts) {
  const std::filesystem::path file = facts.folder / "metrics.jsonl";
  std::vector<std::string> names;
  MetricsFile(file).read([&](const Record& record) {
    for (const auto& [name, value] : record.values)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  });
  auto held = names.empty() ? std::nullopt : tracker.points(facts, names);
  if (!held) return {};
  std::vector<Record> missing;
  MetricsFile(file).read([&](const Record& record) {
    Record rest = record;
    std::erase_if(rest.values, [&](const auto& value) {
      std::size_t& left = (*held)[value.first][record.step];
      return left > 0 && left-- > 0;
    });
    if (rest.values.empty()) return;
    rest.wall_time = facts.started_at + record.time;  // that of the record itself is not in the file
    missing.push_back(std::move(rest));
  });
  return missing;
}

}  // namespace runner
