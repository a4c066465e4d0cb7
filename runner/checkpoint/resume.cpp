#include "runner/checkpoint/resume.hpp"

#include <set>
#include <stdexcept>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/checkpoint/state_json.hpp"

namespace runner {

namespace {

// What the compression of gradients has left out: a run that goes on without compression, or on one rank,
// loses it; one that begins to compress has none yet.
constexpr auto compression = "compression";

}  // namespace

std::optional<FoundCheckpoint> newest_checkpoint(const CheckpointStore& store, const DamageCheck& check) {
  for (const auto& folder : store.all()) {
    try {
      return FoundCheckpoint{folder, read_checkpoint(folder, check)};
    } catch (const std::exception& error) {
      if (!is_about_checkpoint(error)) throw;
      log::warning("{} Skipping it.", error.what());
    }
  }
  return std::nullopt;
}

std::string restore(const FoundCheckpoint& found,
                    const std::vector<std::pair<std::string, Stateful*>>& objects) {
  const std::string where = "The checkpoint " + found.folder.string();
  std::set<std::string> known{compression};
  for (const auto& [name, object] : objects) known.insert(name);
  for (const auto& [name, state] : found.checkpoint.states) {
    if (!known.contains(name) && !state.empty())
      throw std::runtime_error(where + " has a state " + in_quotes(name) + ", which this run does not have.");
  }
  std::string text;
  for (const auto& [name, object] : objects) {
    const auto state = found.checkpoint.states.find(name);
    if (state == found.checkpoint.states.end() && (name == compression || object->save().empty())) continue;
    if (state == found.checkpoint.states.end())
      throw std::runtime_error(where + " has no state " + in_quotes(name) + ", which this run needs.");
    try {
      object->load(state->second);
    } catch (const StateError& error) {
      throw std::runtime_error(where + " does not fit this run: " + name + ": " + error.what() + ".");
    }
    const std::size_t tensors = tensors_of(state->second).size();
    text += (text.empty() ? "" : ", ") + name;
    if (tensors > 0) text += " (" + std::to_string(tensors) + (tensors == 1 ? " tensor)" : " tensors)");
  }
  return text;
}

}  // namespace runner
