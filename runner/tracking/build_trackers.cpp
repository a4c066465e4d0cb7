#include "runner/tracking/build_trackers.hpp"

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
  trackers.push_back({always_on, default_part(registry, always_on).build(inputs), true});
  for (const Part<TrackerKind>& part : parts) {
    if (part.name() != always_on) trackers.push_back({part.name(), part.build(inputs)});
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
