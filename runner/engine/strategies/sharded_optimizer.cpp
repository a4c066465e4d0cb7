#include "runner/engine/strategies/sharded_optimizer.hpp"

#include "runner/engine/zero3/sharding.hpp"

namespace runner {

namespace {

template <class Entries, class Keep>
Entries kept(const Entries& entries, const Keep& keep) {
  Entries result;
  for (const auto& entry : entries)
    if (keep(entry.first)) result.insert(entry);
  return result;
}

// Entries are named "<parameter>.<slot>"; entries that belong to no parameter are kept.
template <class Keep>
State filtered(const State& state, const Keep& keep) {
  State result{kept(state.tensors, keep), kept(state.integers, keep), kept(state.numbers, keep),
               kept(state.texts, keep)};
  for (const auto& [name, part] : state.parts) result.parts[name] = filtered(part, keep);
  return result;
}

}  // namespace

State ShardedOptimizer::save() const {
  const Sharding* sharding = ranks_.sharding();
  return sharding ? sharding->states.join(own_->save()) : own_->save();
}

void ShardedOptimizer::load(const State& state) {
  const State own = filtered(state, [&](const std::string& name) {
    const std::string parameter = name.substr(0, name.rfind('.'));
    return ranks_.updates(parameter) || !ranks_.knows(parameter);
  });
  const Sharding* sharding = ranks_.sharding();
  own_->load(sharding ? sharding->states.slice(own) : own);
}

}  // namespace runner
