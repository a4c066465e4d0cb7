#include "runner/checkpoint/environment_changes.hpp"

#include <set>

namespace runner {

std::vector<std::string> environment_changes(const CheckpointSummary& checkpoint,
                                             const std::map<std::string, std::string>& versions,
                                             std::int64_t ranks, std::int64_t examples_of_rank) {
  std::vector<std::string> changes;
  const auto note = [&](const std::string& what, const std::string& before, const std::string& now) {
    if (before != now) changes.push_back(what + ": " + before + " -> " + now);
  };
  const auto version_in = [](const std::map<std::string, std::string>& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? std::string("(none)") : found->second;
  };
  std::set<std::string> names;
  for (const auto* all : {&checkpoint.versions, &versions})
    for (const auto& [name, version] : *all) names.insert(name);
  for (const std::string& name : names)
    note(name, version_in(checkpoint.versions, name), version_in(versions, name));
  note("ranks", std::to_string(checkpoint.ranks), std::to_string(ranks));
  if (checkpoint.ranks != ranks && examples_of_rank > 0) {
    note("examples in a batch of all ranks", std::to_string(checkpoint.ranks * examples_of_rank),
         std::to_string(ranks * examples_of_rank));
    changes.back() += ", because distributed.batch is \"rank\"";
  }
  return changes;
}

}  // namespace runner
