#include <cmath>
#include <limits>

#include "components/optimizers/fused_optimizer.hpp"

namespace runner {
namespace {

struct Adafactor {
  double lr = 0.01;
  double beta2_decay = -0.8;
  std::optional<double> eps1;
  double eps2 = 1e-3;
  double d = 1.0;
  double weight_decay = 0.0;
};

constexpr auto describe(std::type_identity<Adafactor>) {
  return fields(
      field("lr", &Adafactor::lr,
            "Peak learning rate, before the schedule, relative to the size of the weights.", above(0)),
      field("beta2_decay", &Adafactor::beta2_decay,
            "Update t enters the running mean squares with the weight t^beta2_decay.", within(-10, 0)),
      field("eps1", &Adafactor::eps1,
            "Lowest root mean square; default: the machine epsilon of the weights' type.", at_least(0)),
      field("eps2", &Adafactor::eps2,
            "Updates are scaled by the root mean square of the weights, and by at least this.", at_least(0)),
      field("d", &Adafactor::d, "Clip updates to this root mean square.", at_least(1)),
      field("weight_decay", &Adafactor::weight_decay, "Decoupled weight decay, as in AdamW.", at_least(0)));
}

double machine_precision(torch::Dtype type) {
  switch (type) {
    case torch::kFloat64: return std::numeric_limits<double>::epsilon();
    case torch::kFloat16: return std::ldexp(1.0, -10);
    case torch::kBFloat16: return std::ldexp(1.0, -7);
    default: return std::numeric_limits<float>::epsilon();
  }
}

// Shazeer and Stern 2018. Of a matrix, only the mean squares of its rows and columns are kept: two vectors
// instead of a matrix.
class AdafactorOptimizer final : public FusedOptimizer {
 public:
  AdafactorOptimizer(const Adafactor& settings, const OptimizerInputs& inputs)
      : FusedOptimizer(inputs.groups, {"row_var", "col_var", "variance"}, settings.lr, settings.weight_decay),
        settings_(settings) {}

 private:
  torch::Tensor make_slot(std::size_t slot, const torch::Tensor& parameter) const override {
    const bool for_vectors = slot == 2;
    if (for_vectors != (parameter.dim() < 2)) return {};
    std::vector<std::int64_t> shape = parameter.sizes().vec();
    if (slot == 0) shape.back() = 1;
    if (slot == 1) shape[shape.size() - 2] = 1;
    return torch::zeros(shape, parameter.options().requires_grad(false));
  }

  void update(const Lists& lists, double lr, double weight_decay) override {
    const auto number = static_cast<double>(lists.updates + 1);
    const double share = std::pow(number, settings_.beta2_decay);
    const double step = std::min(lr, 1 / std::sqrt(number));
    for (std::size_t i = 0; i < lists.parameters.size(); ++i) {
      const torch::Tensor& parameter = lists.parameters[i];
      const torch::Tensor& gradient = lists.gradients[i];
      const double eps1 = settings_.eps1.value_or(machine_precision(parameter.scalar_type()));
      const torch::Tensor size = root_mean_square(parameter).clamp_min(settings_.eps2);
      if (weight_decay != 0) parameter.mul_(1 - lr * weight_decay);
      const torch::Tensor variance =
          gradient.dim() > 1 ? factored(lists.slots[0][i], lists.slots[1][i], gradient, share, eps1)
                             : lists.slots[2][i].lerp_(gradient.square(), share).clone();
      const torch::Tensor change = variance.clamp_min_(eps1 * eps1).rsqrt_().mul_(gradient);
      const torch::Tensor excess = root_mean_square(change).div(settings_.d).clamp_min(1);
      parameter.addcmul_(change, size / excess, -step);
    }
  }

  static torch::Tensor root_mean_square(const torch::Tensor& numbers) {
    return numbers.norm() / std::sqrt(static_cast<double>(numbers.numel()));
  }

  static torch::Tensor mean_square(const torch::Tensor& gradient, std::int64_t over) {
    return gradient.norm(2, over, /*keepdim=*/true).square_().div_(gradient.size(over));
  }

  static torch::Tensor factored(const torch::Tensor& rows, const torch::Tensor& columns,
                                const torch::Tensor& gradient, double share, double eps1) {
    rows.lerp_(mean_square(gradient, -1), share);
    columns.lerp_(mean_square(gradient, -2), share);
    return rows.matmul(columns).div_(rows.mean(-2, /*keepdim=*/true).clamp_min_(eps1));
  }

  Adafactor settings_;
};

std::unique_ptr<Optimizer> build(const Adafactor& settings, const OptimizerInputs& inputs) {
  return std::make_unique<AdafactorOptimizer>(settings, inputs);
}

const Registration<OptimizerKind> registration{
    "adafactor",
    "Adam's scaling with far less state: mean squares of rows and columns only, and no momentum.", &build};

}  // namespace
}  // namespace runner
