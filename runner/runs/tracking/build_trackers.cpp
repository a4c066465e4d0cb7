#include "runner/runs/tracking/build_trackers.hpp"

#include <map>

namespace runner {
namespace {

constexpr const char* always_on = "jsonl";

Part<TrackerKind> default_part(const Registry& registry, const char* name) {
  Table table;
  table.set("name", Value(Value::Data(std::string(name))));
  return Codec<Part<TrackerKind>>::decode(Value(Value::Data(std::move(table))), registry);
}

}  // namespace

std::vector<NamedTracker> build_trackers(const std::vector<Part<TrackerKind>>& parts,
                                         const Registry& registry, const TrackerInputs& inputs) {
  std::vector<NamedTracker> trackers;
  if (inputs.rank == 0)
    trackers.push_back({always_on, default_part(registry, always_on).build(inputs), true});
  std::map<std::string, int> count;
  for (const Part<TrackerKind>& part : parts) {
    if (part.name() == always_on) continue;
    const int number = ++count[part.name()];
    const TrackerFacts facts = part.facts();
    if (inputs.rank != 0 && !facts.every_rank) continue;
    std::filesystem::create_directories(inputs.folder);  // that of another rank may not exist yet
    TrackerInputs own = inputs;
    own.logging_dir = part.common.logging_dir;
    std::string name = part.name() + (number > 1 ? "-" + std::to_string(number) : "") +
                       (inputs.rank > 0 ? ".rank" + std::to_string(inputs.rank) : "");
    trackers.push_back({std::move(name), part.build(own), false, facts});
  }
  return trackers;
}

std::vector<std::string> tracker_names(const std::vector<Part<TrackerKind>>& parts) {
  std::vector<std::string> names{always_on};
  for (const Part<TrackerKind>& part : parts) {
    if (part.name() != always_on) names.push_back(part.name());
  }
  return names;
}

}  // namespace runner
