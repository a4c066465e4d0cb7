#include "runner/checkpoint/resume.hpp"

#include <set>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include "components/support/io/io_error.hpp"
#include "registry/log.hpp"
#include "registry/wording.hpp"
#include "runner/checkpoint/state_json.hpp"
#include "runner/engine/world.hpp"

namespace runner {

bool is_about_checkpoint(const std::exception& error) {
  const auto is = [&]<class Failure>(std::type_identity<Failure>) {
    return dynamic_cast<const Failure*>(&error) != nullptr;
  };
  return is(std::type_identity<std::runtime_error>()) && !is(std::type_identity<IoError>()) &&
         !is(std::type_identity<RankError>()) && !is(std::type_identity<std::system_error>()) &&
         !is(std::type_identity<OtherFormat>());
}

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
  std::set<std::string> known;
  for (const auto& [name, object] : objects) known.insert(name);
  for (const auto& [name, state] : found.checkpoint.states) {
    if (!known.contains(name) && !state.empty())
      throw std::runtime_error(where + " has a state " + in_quotes(name) + ", which this run does not have.");
  }
  std::string text;
  for (const auto& [name, object] : objects) {
    const auto state = found.checkpoint.states.find(name);
    if (state == found.checkpoint.states.end() && object->save().empty()) continue;
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
