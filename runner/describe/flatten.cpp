#include "runner/describe/flatten.hpp"

#include <algorithm>
#include <map>

namespace runner {

namespace {

void collect(const Value& value, const std::string& path,
             std::vector<std::pair<std::string, const Value*>>& found) {
  if (const auto* table = value.as<Table>()) {
    for (const Member& member : *table)
      collect(member.value, key_below(path, key_to_toml(member.key)), found);
    return;
  }
  const auto* list = value.as<Array>();
  const bool holds_tables =
      list && std::ranges::any_of(*list, [](const Value& item) { return item.as<Table>(); });
  if (!holds_tables) {
    found.emplace_back(path, &value);
    return;
  }
  for (std::size_t i = 0; i < list->size(); ++i)
    collect((*list)[i], key_below(path, std::to_string(i)), found);
}

}  // namespace

std::vector<std::pair<std::string, const Value*>> flatten(const Value& tree) {
  std::vector<std::pair<std::string, const Value*>> found;
  collect(tree, "", found);
  return found;
}

std::vector<Difference> compare(const Value& tree, const Value& other) {
  const auto here = flatten(tree), there = flatten(other);
  const std::map<std::string, const Value*> known_here(here.begin(), here.end()),
      known_there(there.begin(), there.end());
  std::vector<Difference> differences;
  for (const auto& [path, value] : here) {
    const auto match = known_there.find(path);
    const Value* opposite = match == known_there.end() ? nullptr : match->second;
    if (!opposite || !same_data(*value, *opposite)) differences.push_back({path, value, opposite});
  }
  for (const auto& [path, value] : there) {
    if (!known_here.contains(path)) differences.push_back({path, nullptr, value});
  }
  return differences;
}

}  // namespace runner
