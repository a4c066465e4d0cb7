#include "runner/checkpoint/replay.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "registry/base/wording.hpp"
#include "registry/files/open_file.hpp"
#include "registry/files/read_json.hpp"
#include "runner/checkpoint/manifest.hpp"
#include "runner/checkpoint/state_json.hpp"
#include "runner/process/input_error.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// What the steps after a checkpoint depend on: the recipe, and the data.
std::array<std::string, 2> origins_in(const fs::path& folder) {
  const auto text_of = [&](const char* name) {
    const fs::path file = folder / name;
    return fs::exists(file) ? read_file(file, largest_json) : "";
  };
  return {text_of("recipe.toml"), text_of("data.json")};
}

// Checkpoints that are complete and were written with the current recipe and data of the run (others would
// compute something else), the oldest first.
std::vector<CheckpointSummary> comparable(const fs::path& run_folder) {
  const auto origins = origins_in(run_folder);
  std::vector<CheckpointSummary> found;
  std::size_t complete = 0;
  for (const fs::path& folder : CheckpointStore(run_folder).all()) {
    if (!is_intact(folder)) continue;
    ++complete;
    if (origins_in(folder) == origins) found.push_back(read_summary(folder));
  }
  if (complete == 0) throw InputError("the run has no complete checkpoint to replay from");
  if (found.empty())
    throw InputError(
        "the recipe of the run was changed, or its data, after its checkpoints were written; nothing "
        "can be compared until it has written a new one");
  if (found.front().ranks > 1)
    throw InputError("the run used " + std::to_string(found.front().ranks) +
                     " ranks, but verify computes with one, which gives other results");
  std::ranges::reverse(found);
  return found;
}

bool same_bits(const torch::Tensor& one, const torch::Tensor& other) {
  if (one.scalar_type() != other.scalar_type() || one.sizes() != other.sizes()) return false;
  const torch::Tensor a = one.cpu().contiguous(), b = other.cpu().contiguous();
  return a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

// Whether the file holds a state or a text of the run; all other files were written by hooks.
bool belongs_to_run(const std::string& file, const Checkpoint& checkpoint) {
  if (file.starts_with("state.") || file == "recipe.toml" || file == "data.json") return true;
  return std::ranges::any_of(checkpoint.states, [&](const auto& state) {
    return file.starts_with(state.first + ".") || file.starts_with(state.first + "-");
  });
}

}  // namespace

std::string ReplayRange::text() const {
  return "steps " + std::to_string(begin + 1) + " to " + std::to_string(end);
}

ReplayRange choose_replay(const fs::path& run_folder, const ReplayRequest& request) {
  const auto all = comparable(run_folder);
  for (auto start = all.begin(); start != all.end(); ++start) {
    if (request.from && start->step != *request.from) continue;
    const auto next = std::next(start);
    const bool followed = next != all.end();
    const std::int64_t left = (followed ? next->step : request.last_step) - start->step;
    if (left <= 0) break;
    const std::int64_t steps = std::min(left, request.steps.value_or(followed ? left : ReplayRequest::usual));
    ReplayRange range{start->folder, start->step, start->step + steps};
    if (followed && steps == left) range.to = next->folder;
    return range;
  }
  if (request.from && std::ranges::find(all, *request.from, &CheckpointSummary::step) == all.end())
    throw InputError("the run has no checkpoint at step " + std::to_string(*request.from) +
                     " that can be replayed; `runner checkpoints` lists all of them");
  throw InputError("nothing was recorded after the checkpoint at step " + std::to_string(all.back().step) +
                   ", so there is nothing to compare");
}

ComparedCheckpoint open_to_compare(const fs::path& folder) {
  ComparedCheckpoint opened{read_checkpoint(folder)};
  const nlohmann::json manifest = read_manifest(folder);
  for (const auto& [name, file] : manifest.at("files").items())
    if (!belongs_to_run(name, opened.checkpoint))
      opened.hook_files[name] = file.at("sha256").get<std::string>();
  return opened;
}

std::string first_difference(const Checkpoint& recorded, const Checkpoint& replayed) {
  const auto only_in = [](const std::string& what, bool in_recorded) {
    return what + ", which only the " + (in_recorded ? "recorded" : "recomputed") + " checkpoint has";
  };
  for (const auto& [state, before] : recorded.states) {
    const auto now = replayed.states.find(state);
    if (now == replayed.states.end()) return only_in("the state " + in_quotes(state), true);
    const auto theirs = tensors_of(before), ours = tensors_of(now->second);
    for (const auto& [name, tensor] : theirs) {
      const std::string what = "the tensor " + in_quotes(state + " " + name);
      const auto other = std::ranges::find(ours, name, &TensorList::value_type::first);
      if (other == ours.end()) return only_in(what, true);
      if (!same_bits(tensor, other->second)) return what;
    }
    for (const auto& [name, tensor] : ours)
      if (std::ranges::find(theirs, name, &TensorList::value_type::first) == theirs.end())
        return only_in("the tensor " + in_quotes(state + " " + name), false);
  }
  for (const auto& [state, now] : replayed.states)
    if (!recorded.states.contains(state)) return only_in("the state " + in_quotes(state), false);
  return "";
}

std::vector<std::string> not_compared(const ComparedCheckpoint& recorded,
                                      const ComparedCheckpoint& replayed) {
  std::vector<std::string> all;
  for (const auto& [name, checksum] : recorded.hook_files) {
    const auto now = replayed.hook_files.find(name);
    if (now == replayed.hook_files.end() || now->second != checksum)
      all.push_back(name + ", a file that a hook wrote and whose bytes differ");
  }
  const bool has_model = std::ranges::any_of(recorded.checkpoint.states,
                                             [](const auto& state) { return is_model(state.first); });
  if (!has_model && recorded.hook_files.empty())
    all.emplace_back("the model, which a hook took out of the checkpoint");
  return all;
}

}  // namespace runner
