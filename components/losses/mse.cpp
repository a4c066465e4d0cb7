#include <ATen/ops/mse_loss.h>

#include <stdexcept>

#include "components/losses/loss.hpp"
#include "registry/log.hpp"

namespace runner {
namespace {

struct Mse {};

constexpr auto describe(std::type_identity<Mse>) { return fields(); }

class MseLoss final : public Loss {
 public:
  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    const torch::Tensor values = output.element_size() < 4 ? output.to(torch::kFloat32) : output;
    torch::Tensor target = batch.target.to(values.dtype());
    // One number for each example: [examples] and [examples, 1] mean the same. Any other difference would
    // broadcast.
    if (output.dim() == target.dim() + 1 && output.size(-1) == 1) target = target.unsqueeze(-1);
    if (target.sizes() != output.sizes()) {
      throw std::runtime_error(
          log::format("mse compares outputs with targets of the same shape, but the model gives {} "
                      "and the targets are {}.",
                      output.sizes(), batch.target.sizes()));
    }
    return at::mse_loss(values, target, at::Reduction::Sum);
  }

  double weight(const Batch& batch) const override { return static_cast<double>(batch.target.numel()); }
};

std::unique_ptr<Loss> build(const Mse&, const LossInputs&) { return std::make_unique<MseLoss>(); }

const Registration<LossKind> registration{
    "mse", "For regression: the squared difference, over all numbers of all targets.", &build};

}  // namespace
}  // namespace runner
