#include "runner/train/divergence.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "components/torch/finite.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/strategies/pack_state.hpp"

namespace runner {

namespace {

constexpr std::int64_t most_in_a_row = 100;  // while a precision adjusts its loss scale
// With on_divergence = "continue" more are tolerated, but a run that skips all updates would never end.
constexpr std::int64_t most_skipped = 1000;

// Read in place: item() would be an additional operator in every step.
double value_of(const torch::Tensor& scalar) {
  if (scalar.is_cpu() && scalar.scalar_type() == torch::kFloat32) return *scalar.const_data_ptr<float>();
  if (scalar.is_cpu() && scalar.scalar_type() == torch::kFloat64) return *scalar.const_data_ptr<double>();
  return scalar.item<double>();
}

constexpr const char* remedy =
    ": the run has diverged; a lower learning rate, train.clip_norm, a warm-up or another precision may help "
    "(train.on_divergence = \"continue\" keeps training)";
constexpr const char* remedy_for_data = ": correct the data, which `runner data` examines";

// Which part of the examples is not finite, of the first rank that has such; empty: none. A lower learning
// rate does not help against that. Every rank takes part.
std::string cause_in_data(const Window& window, World& world) {
  const auto all = [&](torch::Tensor Batch::* part) {
    std::vector<torch::Tensor> tensors;
    for (const Batch& one : window.batches) tensors.push_back(one.*part);
    return all_finite(tensors);
  };
  const std::string own = !all(&Batch::input) ? "inputs" : !all(&Batch::target) ? "targets" : "";
  const std::vector<std::string> causes = world.gather_texts(own, "whether the data is finite");
  const auto found = std::ranges::find_if(causes, [](const std::string& cause) { return !cause.empty(); });
  if (found == causes.end()) return "";
  return *found + " of its batch" + (world.alone() ? "" : log::format(" on rank {}", found - causes.begin()));
}

std::string loss_problem(double loss, std::int64_t step, const std::string& cause) {
  return log::format("the loss is {} in step {}{}", std::isnan(loss) ? "not a number" : "infinite", step,
                     cause.empty() ? "" : ", because " + cause + " are not finite numbers");
}

std::vector<NamedTensor> all_weights(const Engine& engine) {
  auto weights = engine.weights().held_parameters();
  std::ranges::move(engine.weights().held_buffers(), std::back_inserter(weights));
  return weights;
}

std::vector<bool> finite_ones(const std::vector<NamedTensor>& weights) {
  std::vector<torch::Tensor> tensors;
  for (const NamedTensor& weight : weights) tensors.push_back(weight.tensor);
  return each_finite(tensors);
}

}  // namespace

void DivergenceGuard::begin(const Engine& engine) {
  const torch::NoGradGuard no_grad;
  State own;
  const std::vector<NamedTensor> weights = all_weights(engine);
  const std::vector<bool> finite = finite_ones(weights);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!finite[i]) own.integers[weights[i].name] = 1;
  // Each rank may hold another slice of a weight, and rank 0 saves the names for all.
  for (const std::string& rank : engine.world().gather_texts(pack(own), "the weights that are not finite"))
    for (const auto& [name, _] : unpack(rank).integers) not_finite_at_first_.insert(name);
}

bool DivergenceGuard::refuses(const WindowLoss& loss, const Window& window, std::int64_t step, bool look,
                              World& world) {
  loss_is_finite_ = true;
  if (!look && !loss.sum.is_cpu()) return false;
  const double value = value_of(loss.sum) / loss.weight;
  if (std::isfinite(value)) return false;
  loss_is_finite_ = false;
  const bool goes_on = rule_ == OnDivergence::go_on || (precision_skips_ && in_a_row_ + 1 < most_in_a_row);
  if (goes_on && told_) return false;
  const std::string cause = cause_in_data(window, world);
  const std::string what = loss_problem(value, step, cause);
  if (goes_on) {
    log::warning("{}; {}.", what,
                 rule_ == OnDivergence::go_on ? "training continues (train.on_divergence = \"continue\")"
                                              : "the precision skips such updates");
    told_ = true;
    return false;
  }
  problem_ = what + (cause.empty() ? remedy
                                   : std::string(remedy_for_data) +
                                         " (train.on_divergence = \"continue\" keeps training)");
  return true;
}

void DivergenceGuard::stopped_by_hook(const std::string& reason, const WindowLoss& loss, const Window& window,
                                      std::int64_t step, World& world) {
  const double value = loss.mean();
  const std::string cause = std::isfinite(value) ? "" : cause_in_data(window, world);
  if (!problem_.empty()) return;
  problem_ = cause.empty() ? reason : loss_problem(value, step, cause) + remedy_for_data;
}

void DivergenceGuard::updated(bool applied, std::int64_t step) {
  weights_are_finite_.reset();
  in_a_row_ = applied && loss_is_finite_ ? 0 : in_a_row_ + 1;
  skipped_in_a_row_ = applied ? 0 : skipped_in_a_row_ + 1;
  if (in_a_row_ >= most_in_a_row && rule_ == OnDivergence::stop)
    problem_ =
        log::format("the gradients are not finite numbers in step {}, and {} updates in a row were skipped{}",
                    step + 1, in_a_row_, remedy);
  if (skipped_in_a_row_ >= most_skipped)
    problem_ = log::format(
        "the gradients are not finite numbers in step {}, and {} updates in a row were skipped: the run "
        "would never end, even with train.on_divergence = \"continue\"; a lower learning rate, "
        "train.clip_norm, a warm-up or another precision may help",
        step + 1, skipped_in_a_row_);
}

State DivergenceGuard::save() const {
  State state{.integers = {{"in_a_row", in_a_row_}, {"skipped_in_a_row", skipped_in_a_row_}}};
  State& names = state.parts["not_finite_at_first"];
  for (const std::string& name : not_finite_at_first_) names.integers[name] = 1;
  return state;
}

void DivergenceGuard::load(const State& state) {
  StateReader saved(state);
  in_a_row_ = saved.integer("in_a_row");
  skipped_in_a_row_ = saved.integer("skipped_in_a_row");
  not_finite_at_first_.clear();
  for (const auto& [name, _] : saved.part("not_finite_at_first").integers) not_finite_at_first_.insert(name);
  weights_are_finite_.reset();
  saved.finish();
}

void DivergenceGuard::look_at(const Engine& engine) {
  if (rule_ == OnDivergence::stop && problem_.empty() && !weights_are_finite(engine))
    problem_ = std::string("the weights are no longer finite numbers") + remedy;
}

bool DivergenceGuard::weights_are_finite(const Engine& engine) {
  if (weights_are_finite_) return *weights_are_finite_;
  const torch::NoGradGuard no_grad;
  const std::vector<NamedTensor> weights = all_weights(engine);
  const std::vector<bool> finite = finite_ones(weights);
  bool all = true;
  for (std::size_t i = 0; i < weights.size(); ++i)
    all = all && (finite[i] || not_finite_at_first_.contains(weights[i].name));
  weights_are_finite_ = !engine.world().any(!all, "whether the weights are finite");
  return *weights_are_finite_;
}

}  // namespace runner
