#include "runner/engine/zero3/sharded_parameters.hpp"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "registry/base/byte_size.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/runtime/out_of_memory.hpp"
#include "runner/engine/strategies/rank_sync.hpp"
#include "runner/engine/zero3/parameter_units.hpp"

namespace runner {

using Exchange = NextExchange::Kind;

class ShardedParameters::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(ShardedParameters& parameters, std::size_t unit, std::size_t parameter)
      : parameters_(parameters), unit_(unit), parameter_(parameter) {}
  void operator()(const torch::autograd::Variable&) override { parameters_.completed(unit_, parameter_); }

 private:
  ShardedParameters& parameters_;
  const std::size_t unit_, parameter_;
};

ShardedParameters::ShardedParameters(World& world, const torch::nn::Module& model,
                                     const ShardingOptions& options, ParameterValues values)
    : world_(world), options_(options) {
  if (options.group > 0 && options.group != world.size()) make_groups();
  auto cut = cut_into_units(model, options.unit_bytes);
  std::vector<std::size_t> cast_counts(cut.size());
  if (options.cast) cast_counts = put_multiplied_first(cut, model);
  std::vector<NamedTensor> all;
  for (const auto& unit : cut) all.insert(all.end(), unit.begin(), unit.end());
  const std::vector<int> owners =
      options.whole_parameters ? share_out(all, group().size()) : std::vector<int>();
  auto first = owners.begin();
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const auto last = first + (owners.empty() ? 0 : static_cast<std::ptrdiff_t>(cut[i].size()));
    units_.push_back(std::make_unique<ShardedUnit>(
        world, group(), cut[i], std::vector<int>(first, last), values,
        UnitOptions{cast_counts[i], options.cast.value_or(torch::kFloat), options.keep}));
    first = last;
  }
  std::vector<std::int64_t> sizes;
  for (const auto& unit : units_) sizes.push_back(unit->bytes());
  writers_ = share_out(sizes, group().size());
  for (std::size_t unit = 0; unit < units_.size(); ++unit) gatherables_.push_back({unit, ShardedUnit::all});
  for (std::size_t unit = 0; unit < units_.size(); ++unit)
    if (cast_counts[unit] > 0) gatherables_.push_back({unit, ShardedUnit::uncast});
  for (std::size_t i = 0; i < gatherables_.size(); ++i)
    for (const c10::StorageImpl* storage : copy(i).storages()) gatherable_of_[storage] = i;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const auto& parameters = units_[unit]->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      place_of_[parameters[i].tensor.unsafeGetTensorImpl()] = {unit, i};
      if (parameters[i].tensor.requires_grad())
        torch::autograd::impl::set_post_acc_grad_hooks(parameters[i].tensor,
                                                       std::make_unique<Hook>(*this, unit, i));
    }
  }
}

void ShardedParameters::make_groups() {
  if (world_.size() % options_.group != 0)
    throw std::runtime_error(log::format("distributed.shard_group = {} must divide the number of ranks ({}).",
                                         options_.group, world_.size()));
  const int first = world_.rank() - world_.rank() % options_.group;
  std::vector<int> neighbours, others;
  for (int rank = first; rank < first + options_.group; ++rank) neighbours.push_back(rank);
  for (int rank = world_.rank() - first; rank < world_.size(); rank += options_.group) others.push_back(rank);
  own_group_ = world_.group(neighbours);
  copies_ = world_.group(others);
}

ShardedParameters::~ShardedParameters() {
  for (const auto& unit : units_)
    for (const NamedTensor& parameter : unit->parameters())
      torch::autograd::impl::set_post_acc_grad_hooks(parameter.tensor, nullptr);
}

std::pair<std::size_t, std::size_t> ShardedParameters::place_of(const torch::Tensor& parameter) const {
  return place_of_.at(parameter.unsafeGetTensorImpl());
}

const torch::Tensor& ShardedParameters::slice_of(const torch::Tensor& parameter) const {
  const auto [unit, index] = place_of(parameter);
  return units_[unit]->slices()[index];
}

const GatheredCopy& ShardedParameters::copy(std::size_t gatherable) const {
  const auto [unit, copy] = gatherables_[gatherable];
  return units_[unit]->copies()[copy];
}

void ShardedParameters::finish_gather(std::size_t gatherable) {
  const auto [unit, copy] = gatherables_[gatherable];
  units_[unit]->finish_gather(copy);
}

void ShardedParameters::release(std::size_t gatherable) {
  const auto [unit, copy] = gatherables_[gatherable];
  units_[unit]->release(copy);
}

void ShardedParameters::keep_changes(std::size_t gatherable) {
  const auto [unit, copy] = gatherables_[gatherable];
  units_[unit]->keep_changes(copy);
  // The cast copy is now out of date.
  if (copy == ShardedUnit::uncast && std::erase(gathered_, unit) > 0) release(unit);
}

void ShardedParameters::need(std::span<const std::size_t> needed) {
  for (const std::size_t each : needed) {
    while (!copy(each).gathered()) {
      make_room(needed);
      exchange({Exchange::gather, each});
    }
    std::erase(gathered_, each);
    gathered_.push_back(each);
  }
  if (options_.prefetch) prefetch_after(needed);
  for (const std::size_t each : needed) finish_gather(each);
}

// In addition to what the current operator needs, one unit may stay: the previous one, or the next one.
void ShardedParameters::make_room(std::span<const std::size_t> needed) {
  if (!options_.reshard_after_forward && (in_backward_ || torch::GradMode::is_enabled())) return;
  if (gathered_.empty()) return;
  const auto spare = [&, last = gathered_.back()](std::size_t each) {
    return std::ranges::find(needed, each) == needed.end() && each != last;
  };
  for (const std::size_t each : gathered_)
    if (spare(each)) release(each);
  std::erase_if(gathered_, spare);
}

void ShardedParameters::prefetch_after(std::span<const std::size_t> needed) {
  const std::size_t now = needed.back();
  if (current_ == now) return;
  auto& next = next_[in_backward_ ? 1 : 0];
  if (current_) next[*current_] = now;
  current_ = now;
  const auto expected = next.find(now);
  if (expected == next.end() || copy(expected->second).gathered()) return;
  make_room(needed);
  exchange({Exchange::prefetch, expected->second});
}

NextExchange ShardedParameters::exchange(const NextExchange& own) {
  const NextExchange agreed = agree_on(world_, own);
  ++exchanges_[static_cast<std::size_t>(agreed.kind)];
  try {
    carry_out(agreed, own);
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    // The other ranks are in the exchange already, so it cannot be repeated with fewer examples. The new
    // error must therefore not look like an out-of-memory error, which leads to a repetition.
    const bool gradients = agreed.kind == Exchange::reduce;
    const auto bytes =
        static_cast<std::uint64_t>(gradients ? units_[agreed.unit]->bytes() : copy(agreed.unit).bytes());
    throw std::runtime_error(
        log::format("There is no memory left for a unit of {} of parameters: lower distributed.unit_size.",
                    approximately({bytes})));
  }
  return agreed;
}

void ShardedParameters::carry_out(const NextExchange& agreed, const NextExchange& own) {
  if (agreed.kind == Exchange::nothing) return;
  if (agreed.kind == Exchange::reduce) {
    if (reducing_) units_[*reducing_]->finish_reduce();
    units_[agreed.unit]->begin_reduce(options_.wire);
    reducing_ = agreed.unit;
    return;
  }
  const auto [unit, copy] = gatherables_[agreed.unit];
  if (own.gathers() && own.unit == agreed.unit) {
    units_[unit]->begin_gather(copy);
    gathered_.push_back(agreed.unit);
  } else {
    units_[unit]->help_gather(copy);
  }
}

void ShardedParameters::begin_forward() {
  in_backward_ = false;
  current_.reset();
}

void ShardedParameters::begin_backward() {
  in_backward_ = true;
  for (const auto& unit : units_) unit->begin_backward();
}

void ShardedParameters::completed(std::size_t unit, std::size_t parameter) {
  const OperatorModePause pause;
  units_[unit]->take_gradient(parameter);
  if (!units_[unit]->all_gradients_taken()) return;
  reduce(unit);
  std::erase_if(gathered_, [&](std::size_t each) {
    if (gatherables_[each].unit != unit) return false;
    release(each);
    return true;
  });
}

// Repeats until the ranks have agreed on this exchange.
void ShardedParameters::reduce(std::size_t unit) {
  const NextExchange own{Exchange::reduce, unit};
  while (exchange(own) != own) {
  }
}

void ShardedParameters::end_backward() {
  // Units some of whose parameters were not used in this pass.
  for (std::size_t unit = 0; unit < units_.size(); ++unit)
    if (units_[unit]->has_unsent_gradients()) reduce(unit);
}

void ShardedParameters::join() {
  while (exchange({}).kind != Exchange::nothing) {
  }
  for (const std::size_t each : gathered_) release(each);
  gathered_.clear();
  if (reducing_) units_[*std::exchange(reducing_, {})]->finish_reduce();
}

void ShardedParameters::give_gradients() {
  for (const auto& unit : units_) {
    const torch::Tensor& kept = unit->kept_gradients();
    if (copies_ && kept.defined() && kept.numel() > 0)
      copies_->all_reduce(kept, Reduction::sum, "the gradients");
  }
  std::vector<float> had;
  for (const auto& unit : units_)
    for (std::size_t i = 0; i < unit->parameters().size(); ++i) had.push_back(unit->seen_here(i) ? 1 : 0);
  const torch::Tensor anywhere = torch::tensor(had);
  world_.all_reduce(anywhere, Reduction::max, "which parameters have gradients");
  const float* next = anywhere.const_data_ptr<float>();
  for (const auto& unit : units_) {
    std::vector<bool> present(unit->parameters().size());
    for (std::size_t i = 0; i < present.size(); ++i) present[i] = *next++ > 0;
    unit->give_gradients(present);
  }
}

void ShardedParameters::drop_gradients() {
  for (const auto& unit : units_) unit->drop_gradients();
}

}  // namespace runner
