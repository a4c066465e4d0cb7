#include "runner/engine/sharded_optimizer.hpp"

#include "runner/engine/pack_state.hpp"

namespace runner {

namespace {

void merge(State& all, const State& more) {
  all.tensors.insert(more.tensors.begin(), more.tensors.end());
  all.integers.insert(more.integers.begin(), more.integers.end());
  all.numbers.insert(more.numbers.begin(), more.numbers.end());
  all.texts.insert(more.texts.begin(), more.texts.end());
  for (const auto& [name, part] : more.parts) merge(all.parts[name], part);
}

template <class Entries, class Keep>
Entries kept(const Entries& entries, const Keep& keep) {
  Entries result;
  for (const auto& entry : entries)
    if (keep(entry.first)) result.insert(entry);
  return result;
}

// Entries are called "<parameter>.<slot>"; what belongs to no parameter stays.
template <class Keep>
State filtered(const State& state, const Keep& keep) {
  State result{kept(state.tensors, keep), kept(state.integers, keep), kept(state.numbers, keep),
               kept(state.texts, keep)};
  for (const auto& [name, part] : state.parts) result.parts[name] = filtered(part, keep);
  return result;
}

}  // namespace

State ShardedOptimizer::save() const {
  State all = own_->save();
  for (int rank = 1; rank < world_.size(); ++rank) {
    if (world_.rank() != 0 && world_.rank() != rank) continue;
    const std::string theirs =
        world_.pass_text(rank == world_.rank() ? pack(all) : "", rank, 0, "the optimizer's state");
    if (world_.is_main()) merge(all, unpack(theirs));
  }
  return all;
}

void ShardedOptimizer::load(const State& state) {
  own_->load(filtered(state, [&](const std::string& name) {
    const std::string parameter = name.substr(0, name.rfind('.'));
    return ranks_.updates(parameter) || !ranks_.knows(parameter);
  }));
}

}  // namespace runner
