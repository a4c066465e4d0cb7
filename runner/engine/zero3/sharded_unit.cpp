#include "runner/engine/zero3/sharded_unit.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "runner/engine/zero3/storage_memory.hpp"

namespace runner {

namespace {

constexpr auto weights = "the weights", gradients = "the gradients";

void wait_for(std::vector<Work>& works) {
  for (Work& work : works) work.wait();
  works.clear();
}

}  // namespace

ShardedUnit::ShardedUnit(World& world, World& ranks, std::vector<NamedTensor> parameters,
                         const std::vector<int>& owners, ParameterValues& values, const UnitOptions& options)
    : ranks_(ranks),
      parameters_(std::move(parameters)),
      layout_(parameters_, owners, ranks.size()),
      of_parameters_(parameters_.front().tensor.options().requires_grad(false)),
      expected_(parameters_.size()),
      seen_here_(parameters_.size()),
      present_anywhere_(parameters_.size()) {
  const torch::NoGradGuard no_grad;
  make_copies(options);
  take_over(world, values, options);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, parameter] = parameters_[i];
    slices_.push_back(layout_.slice_in(kept_, i, ranks.rank()).detach());
    if (values.from == ParameterValues::From::every_rank && slices_.back().numel() > 0)
      values.take(name, [&](const torch::Tensor& value) { slices_.back().copy_(own_slice(value, i)); });
    slices_.back().set_requires_grad(parameter.requires_grad());
  }
}

// Makes the parameters views of the gathered copies, and takes this rank's part of their initial values.
void ShardedUnit::take_over(World& world, ParameterValues& values, const UnitOptions& options) {
  using From = ParameterValues::From;
  const bool from_one = values.from == From::model || values.from == From::rank_0;
  const torch::Tensor whole = torch::zeros(layout_.size(), of_parameters_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto& [name, parameter] = parameters_[i];
    const torch::Tensor view = layout_.parameter_in(whole, i);
    if (values.in_model()) {
      view.copy_(parameter);
    } else if (from_one && world.is_main()) {
      values.take(name, [&](const torch::Tensor& value) { view.copy_(value); });
    }
    parameter.set_data(copies_[i < options.cast_count ? uncast : all].parameter(i));
  }
  const UnitLayout::Stretch own = layout_.part(ranks_.rank());
  if (from_one) world.broadcast(whole, 0, weights);
  const torch::Tensor part = whole.narrow(0, own.first, own.count);  // zeros, if values come from elsewhere
  kept_ = options.keep ? options.keep(part) : part.clone();
  free_memory(whole, GatheredCopy::not_gathered);  // the backend may hold the tensor a little longer
}

void ShardedUnit::make_copies(const UnitOptions& options) {
  const std::size_t cast = options.cast_count, count = parameters_.size();
  copies_.emplace_back(ranks_, layout_);
  if (cast > 0) copies_[all].add(0, cast, of_parameters_.dtype(options.cast_type));
  if (cast < count) copies_[all].add(cast, count, of_parameters_);
  if (cast > 0) copies_.emplace_back(ranks_, layout_).add(0, cast, of_parameters_);
}

torch::Tensor ShardedUnit::own_slice(const torch::Tensor& whole, std::size_t parameter) const {
  const UnitLayout::Stretch piece = layout_.piece(parameter, ranks_.rank());
  if (piece.count == whole.numel() && piece.count > 0) return whole;
  return layout_.in_order(whole, parameter)
      .narrow(0, piece.first, piece.count)
      .view(layout_.slice_shape(parameter, ranks_.rank()));
}

torch::Tensor ShardedUnit::gather(const torch::Tensor& part, const char* what) const {
  const torch::NoGradGuard no_grad;
  const torch::Tensor whole = torch::empty({layout_.size()}, part.options());
  auto works = layout_.begin_gather(ranks_, whole, part, what);
  wait_for(works);
  return whole;
}

torch::Tensor ShardedUnit::gather_weights() const { return gather(kept_, weights); }

void ShardedUnit::begin_backward() {
  for (std::size_t i = 0; i < expected_.size(); ++i) expected_[i] = parameters_[i].tensor.requires_grad();
  missing_ = std::ranges::count(expected_, true);
}

void ShardedUnit::take_gradient(std::size_t parameter) {
  torch::Tensor& gradient = parameters_[parameter].tensor.mutable_grad();
  if (!gradient.defined()) return;
  const torch::NoGradGuard no_grad;
  if (!gradient_.defined()) gradient_ = torch::zeros({layout_.size()}, of_parameters_);
  // A backward inside backward may complete a parameter more than once.
  layout_.parameter_in(gradient_, parameter)
      .add_(gradient.layout() == torch::kStrided ? gradient : gradient.to_dense());
  gradient.reset();
  seen_here_[parameter] = true;
  if (!expected_[parameter]) return;
  expected_[parameter] = false;
  --missing_;
}

void ShardedUnit::begin_reduce(const std::optional<torch::ScalarType>& wire) {
  const torch::NoGradGuard no_grad;
  on_wire_ =
      gradient_.defined() ? std::exchange(gradient_, {}) : torch::zeros({layout_.size()}, of_parameters_);
  if (wire) on_wire_ = on_wire_.to(*wire);
  received_ = torch::empty({kept_.numel()}, on_wire_.options());
  reducing_ = layout_.begin_reduce(ranks_, received_, on_wire_, gradients);
}

void ShardedUnit::finish_reduce() {
  if (!received_.defined()) return;
  const torch::NoGradGuard no_grad;
  wait_for(reducing_);
  on_wire_.reset();
  if (kept_gradient_.defined()) {
    kept_gradient_.add_(received_.to(kept_.device()));
  } else {
    kept_gradient_ = received_.to(kept_.device(), kept_.scalar_type());
  }
  received_.reset();
}

void ShardedUnit::give_gradients(std::vector<bool> present) {
  const torch::NoGradGuard no_grad;
  present_anywhere_ = std::move(present);
  for (std::size_t i = 0; i < slices_.size(); ++i)
    slices_[i].mutable_grad() = present_anywhere_[i] && kept_gradient_.defined() && slices_[i].numel() > 0
                                    ? layout_.slice_in(kept_gradient_, i, ranks_.rank())
                                    : torch::Tensor();
}

void ShardedUnit::drop_gradients() {
  for (const NamedTensor& parameter : parameters_) torch::Tensor(parameter.tensor).mutable_grad().reset();
  for (torch::Tensor& slice : slices_) slice.mutable_grad().reset();
  gradient_.reset();
  kept_gradient_.reset();
  std::fill(seen_here_.begin(), seen_here_.end(), false);
  std::fill(present_anywhere_.begin(), present_anywhere_.end(), false);
}

torch::Tensor ShardedUnit::gather_gradients() const {
  return gather(kept_gradient_.defined() ? kept_gradient_ : torch::zeros_like(kept_), gradients);
}

}  // namespace runner
