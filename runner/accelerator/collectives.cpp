// The collective operations of Accelerator.
#include <ATen/OpMathType.h>
#include <ATen/WrapDimUtils.h>
#include <torch/utils.h>

#include <stdexcept>

#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/accelerator_impl.hpp"
#include "runner/engine/strategies/together.hpp"

namespace runner {

torch::Tensor Accelerator::gather(const torch::Tensor& tensor) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor rows = tensor.dim() == 0 ? tensor.reshape({1}) : tensor;
  return world().gather_rows(rows.detach(), "gather");
}

torch::Tensor Accelerator::gather_for_metrics(const torch::Tensor& tensor) {
  const torch::Tensor all = gather(tensor);
  if (impl_->passes.empty()) return all;
  const LoaderPass& pass = *impl_->passes.back();
  if (pass.examples() == pass.rows() || tensor.dim() == 0) return all;
  if (all.size(0) != pass.rows())
    throw std::invalid_argument("gather_for_metrics() was given " + std::to_string(all.size(0)) +
                                " rows of a batch of " + std::to_string(pass.rows()) +
                                ": which of them were repeated cannot be known. Use gather().");
  return all.narrow(0, 0, pass.examples());
}

torch::Tensor Accelerator::reduce(const torch::Tensor& tensor, Reduce how) {
  const torch::NoGradGuard no_grad;
  // Integers and truth values as torch::sum adds them; half precision with room for the sum.
  const auto type = tensor.scalar_type();
  const bool counts = torch::isIntegralType(type, /*includeBool=*/true);
  const torch::Tensor sum =
      tensor.detach().to(counts ? torch::kLong : at::toOpMathType(type),
                         /*non_blocking=*/false, /*copy=*/true, torch::MemoryFormat::Contiguous);
  world().all_reduce(sum, Reduction::sum, "reduce");
  const torch::Tensor result = how == Reduce::sum ? sum : sum / world().size();
  return counts ? result : result.to(type);
}

torch::Tensor Accelerator::broadcast(const torch::Tensor& tensor, int source_rank) {
  const torch::NoGradGuard no_grad;
  if (source_rank < 0 || source_rank >= world().size())
    throw std::invalid_argument("broadcast(): there is no rank " + std::to_string(source_rank) + " among " +
                                std::to_string(world().size()) + ".");
  const torch::Tensor copy = tensor.detach().clone(torch::MemoryFormat::Contiguous);
  broadcast_together(world(), {copy}, source_rank, "broadcast");
  return copy;
}

torch::Tensor Accelerator::pad_across_processes(const torch::Tensor& tensor, std::int64_t dimension,
                                                double value, bool first) {
  const torch::NoGradGuard no_grad;
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

}  // namespace runner
