#include "runner/checkpoint/replay.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "components/support/io/open_file.hpp"
#include "components/support/io/read_json.hpp"
#include "runner/checkpoint/state_json.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

std::vector<std::uint8_t> bytes_of(const fs::path& path) {
  std::vector<std::uint8_t> bytes;
  if (fs::exists(path)) read_file(path, bytes, largest_json);
  return bytes;
}

// Complete, and written with the recipe that the run has now: any other would compute something else. The
// oldest first.
std::vector<CheckpointSummary> comparable(const fs::path& run_folder) {
  const auto recipe = bytes_of(run_folder / "recipe.toml");
  std::vector<CheckpointSummary> found;
  std::size_t complete = 0;
  for (const fs::path& folder : CheckpointStore(run_folder).all()) {
    if (!damage_of(folder).empty()) continue;
    ++complete;
    if (bytes_of(folder / "recipe.toml") == recipe) found.push_back(read_summary(folder));
  }
  if (complete == 0) throw std::runtime_error("the run has no complete checkpoint to replay from");
  if (found.empty())
    throw std::runtime_error(
        "the recipe of the run was changed after its checkpoints were written; nothing "
        "can be compared until it has written a new one");
  if (found.front().ranks > 1)
    throw std::runtime_error("the run used " + std::to_string(found.front().ranks) +
                             " ranks, but verify computes with one, which gives other results");
  std::ranges::reverse(found);
  return found;
}

bool same_bits(const torch::Tensor& one, const torch::Tensor& other) {
  if (one.scalar_type() != other.scalar_type() || one.sizes() != other.sizes()) return false;
  const torch::Tensor a = one.cpu().contiguous(), b = other.cpu().contiguous();
  return a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
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
    if (!followed && start->step >= request.last_step) break;
    if (!followed) {
      const std::int64_t end = start->step + request.steps.value_or(ReplayRequest::usual);
      return {start->folder, start->step, std::min(end, request.last_step)};
    }
    const bool whole = !request.steps || start->step + *request.steps >= next->step;
    if (whole) return {start->folder, start->step, next->step, next->folder};
    return {start->folder, start->step, start->step + *request.steps};
  }
  if (request.from && std::ranges::find(all, *request.from, &CheckpointSummary::step) == all.end())
    throw std::runtime_error("the run has no checkpoint at step " + std::to_string(*request.from) +
                             " that can be replayed; `runner checkpoints` lists all of them");
  throw std::runtime_error("nothing was recorded after the checkpoint at step " +
                           std::to_string(all.back().step) + ", so there is nothing to compare");
}

std::string first_difference(const Checkpoint& recorded, const Checkpoint& replayed) {
  for (const auto& [state, before] : recorded.states) {
    const auto now = replayed.states.find(state);
    if (now == replayed.states.end()) continue;
    const auto ours = tensors_of(now->second);
    for (const auto& [name, tensor] : tensors_of(before)) {
      const auto other = std::ranges::find(ours, name, &NamedTensor::name);
      if (other == ours.end() || !same_bits(tensor, other->tensor)) return state + " " + name;
    }
  }
  return "";
}

}  // namespace runner
