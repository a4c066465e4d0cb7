// The collective operations of Accelerator.
#include <ATen/OpMathType.h>
#include <ATen/WrapDimUtils.h>
#include <torch/utils.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <stdexcept>

#include "components/torch/shape_text.hpp"
#include "registry/base/log.hpp"
#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/accelerator_impl.hpp"
#include "runner/engine/runtime/generators.hpp"
#include "runner/engine/strategies/together.hpp"

namespace runner {

torch::Tensor Accelerator::gather(const torch::Tensor& tensor) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor rows = tensor.dim() == 0 ? tensor.reshape({1}) : tensor;
  return world().gather_rows(rows.detach(), "gather");
}

std::optional<Rows> Accelerator::counted_rows(std::int64_t gathered) const {
  if (impl_->passes.empty()) return {};
  const BatchFacts& batch = impl_->passes.back()->facts();
  if (batch.counted.empty()) return {};
  if (gathered != batch.rows)
    throw std::invalid_argument("gather_for_metrics() was given " + std::to_string(gathered) +
                                " rows of a batch of " + std::to_string(batch.rows) +
                                ": which of them were repeated cannot be known. Use gather().");
  return batch.counted;
}

torch::Tensor Accelerator::gather_for_metrics(const torch::Tensor& tensor) {
  torch::Tensor all = gather(tensor);
  if (tensor.dim() == 0) return all;
  const auto counted = counted_rows(all.size(0));
  return counted ? take_rows(static_cast<const torch::Tensor&>(all), *counted) : all;
}

namespace {

// Throws std::invalid_argument, on every rank, if the texts of the ranks differ. `wanted` says what they
// must have in common.
void require_same(World& world, const std::string& form, const char* call, const char* wanted) {
  if (world.alone()) return;
  const auto hash = static_cast<std::int64_t>(std::hash<std::string>{}(form));
  const torch::Tensor hashes = torch::empty({world.size()}, torch::kLong);
  world.all_gather(hashes, torch::tensor({hash}, torch::kLong), call);
  if (hashes.eq(hashes[0]).all().item<bool>()) return;
  std::string all;
  int rank = 0;
  for (const std::string& text : world.gather_texts(form, call)) {
    all += (rank > 0 ? ", rank " : "rank ") + std::to_string(rank) + " has " + text;
    ++rank;
  }
  throw std::invalid_argument(
      log::format("{}(): the tensors of all ranks must have {}, but {}.", call, wanted, all));
}

void require_rank(const World& world, int rank, const char* call) {
  if (rank < 0 || rank >= world.size())
    throw std::invalid_argument(log::format("{}(): there is no rank {} among {}.", call, rank, world.size()));
}

}  // namespace

torch::Tensor Accelerator::reduce(const torch::Tensor& tensor, Reduce how) {
  const torch::NoGradGuard no_grad;
  require_same(world(), form_text(tensor), "reduce", "the same shape and type");
  // Integers and truth values as torch::sum adds them; half precision with room for the sum.
  const auto type = tensor.scalar_type();
  const bool counts = torch::isIntegralType(type, /*includeBool=*/true);
  const torch::Tensor result =
      tensor.detach().to(counts ? torch::kLong : at::toOpMathType(type),
                         /*non_blocking=*/false, /*copy=*/true, torch::MemoryFormat::Contiguous);
  if (how == Reduce::min || how == Reduce::max) {
    if (tensor.is_complex()) throw std::invalid_argument("reduce(): complex numbers have no order.");
    world().all_reduce(result, how == Reduce::min ? Reduction::min : Reduction::max, "reduce");
    return result.to(type);
  }
  world().all_reduce(result, Reduction::sum, "reduce");
  const torch::Tensor reduced = how == Reduce::sum ? result : result / world().size();
  return counts ? reduced : reduced.to(type);
}

torch::Tensor Accelerator::broadcast(const torch::Tensor& tensor, int source_rank) {
  const torch::NoGradGuard no_grad;
  require_rank(world(), source_rank, "broadcast");
  require_same(world(), form_text(tensor), "broadcast", "the same shape and type");
  const torch::Tensor copy = tensor.detach().clone(torch::MemoryFormat::Contiguous);
  broadcast_together(world(), {copy}, source_rank, "broadcast");
  return copy;
}

torch::Tensor Accelerator::pad_across_processes(const torch::Tensor& tensor, std::int64_t dimension,
                                                double value, bool first) {
  const torch::NoGradGuard no_grad;
  require_same(world(), log::format("{} dimensions of type {}", tensor.dim(), tensor.dtype().name()),
               "pad_across_processes", "as many dimensions and the same type");
  dimension = at::maybe_wrap_dim(dimension, tensor.dim());
  const std::int64_t own = tensor.size(dimension);
  const auto longest = static_cast<std::int64_t>(
      world().all_reduce(static_cast<double>(own), Reduction::max, "the longest tensor"));
  if (longest == own) return tensor;
  std::vector<std::int64_t> shape = tensor.sizes().vec();
  shape[static_cast<std::size_t>(dimension)] = longest - own;
  const torch::Tensor padding = torch::full(shape, value, tensor.options().requires_grad(false));
  return first ? torch::cat({padding, tensor}, dimension) : torch::cat({tensor, padding}, dimension);
}

std::vector<std::string> Accelerator::gather_bytes(const std::string& bytes, const char* call) {
  return world().gather_texts(bytes, call);
}

std::string Accelerator::broadcast_bytes(const std::string& bytes, int source_rank) {
  require_rank(world(), source_rank, "broadcast_object");
  return world().broadcast_text(bytes, source_rank, "broadcast_object");
}

Rows Accelerator::rows_of_part(std::int64_t rows, bool apply_padding) const {
  const std::int64_t ranks = num_processes(), rank = process_index();
  const std::int64_t each = rows / ranks, longer = rows % ranks;
  const std::int64_t begin = rank * each + std::min(rank, longer);
  const std::int64_t own = each + (rank < longer ? 1 : 0);
  Rows part;
  for (std::int64_t row = begin; row < begin + own; ++row) part.push_back(row);
  if (apply_padding && longer > 0 && own == each) part.push_back(rows - 1);
  return part;
}

void Accelerator::set_trigger() { impl_->triggered = true; }
bool Accelerator::check_trigger() {
  return world().any(std::exchange(impl_->triggered, false), "check_trigger");
}

void Accelerator::synchronize_rng_states() {
  Generators generators(device());
  share_state(world(), generators, 0, "the random generators");
}

// The others wait, without a timeout, until the first has left its scope.
Accelerator::Turn::Turn(World& world, bool first)
    : world_(world), first_(first), exceptions_(std::uncaught_exceptions()) {
  if (!first_) world_.wait_for_all("main_process_first");
}

Accelerator::Turn::~Turn() {
  if (!first_ || std::uncaught_exceptions() > exceptions_) return;
  try {
    world_.wait_for_all("main_process_first");
  } catch (const std::exception& error) {
    log::error("{}", error.what());  // the next exchange says so, too
  }
}

}  // namespace runner
