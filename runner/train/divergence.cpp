#include "runner/train/divergence.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "registry/log.hpp"

namespace runner {

namespace {

constexpr std::int64_t most_in_a_row = 100;  // while a precision looks for its scale

// Read in place: asking the tensor would be an operator more in every step.
double value_of(const torch::Tensor& scalar) {
  if (scalar.is_cpu() && scalar.scalar_type() == torch::kFloat32) return *scalar.const_data_ptr<float>();
  if (scalar.is_cpu() && scalar.scalar_type() == torch::kFloat64) return *scalar.const_data_ptr<double>();
  return scalar.item<double>();
}

}  // namespace

bool DivergenceGuard::refuses(const WindowLoss& loss, std::int64_t step, bool look) {
  if (!look && !loss.sum.is_cpu()) return false;
  const double value = value_of(loss.sum) / loss.weight;
  if (std::isfinite(value)) {
    in_a_row_ = 0;
    return false;
  }
  const std::string what =
      log::format("the loss is {} in step {}", std::isnan(value) ? "not a number" : "infinite", step);
  const bool continues = rule_ == OnDivergence::resume || (precision_skips_ && ++in_a_row_ < most_in_a_row);
  if (continues) {
    if (!told_)
      log::warning("{}; {}.", what,
                   rule_ == OnDivergence::resume ? "training continues (train.on_divergence = \"continue\")"
                                                 : "the precision skips such updates");
    told_ = true;
    return false;
  }
  problem_ = what +
             ": the run has diverged; a lower learning rate, train.clip_norm, a warm-up or another "
             "precision may help (train.on_divergence = \"continue\" keeps training)";
  return true;
}

void DivergenceGuard::look_at(const Engine& engine) {
  if (rule_ == OnDivergence::stop && problem_.empty() && !weights_are_finite(engine))
    problem_ = "the weights are no longer finite numbers: the run has diverged in its last updates";
}

bool weights_are_finite(const Engine& engine) {
  const torch::NoGradGuard no_grad;
  const auto finite = [](const NamedTensor& weight) {
    return !weight.tensor.is_floating_point() || weight.tensor.isfinite().all().item<bool>();
  };
  const auto parameters = engine.weights().held_parameters(), buffers = engine.weights().held_buffers();
  const bool all = std::ranges::all_of(parameters, finite) && std::ranges::all_of(buffers, finite);
  return !engine.world().any(!all, "whether the weights are finite");
}

}  // namespace runner
