#include "runner/engine/strategies/sync_batch_norm.hpp"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <numeric>

namespace runner {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::ScalarType statistics_type(const torch::Tensor& input) {
  return input.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
}

// All dimensions except the channels.
std::vector<std::int64_t> reduced_dimensions(const torch::Tensor& input) {
  std::vector<std::int64_t> dimensions{0};
  for (std::int64_t i = 2; i < input.dim(); ++i) dimensions.push_back(i);
  return dimensions;
}

torch::Tensor per_channel(const torch::Tensor& numbers, const torch::Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = -1;
  return numbers.to(statistics_type(input)).view(shape);
}

// Mean, variance and number of values of each channel, over all ranks, in double precision.
struct Statistics {
  torch::Tensor mean, variance, count;
};

Statistics statistics_of(World& world, const torch::Tensor& input, bool counting) {
  const std::int64_t channels = input.size(1);
  torch::Tensor own = torch::zeros(2 * channels + 1, input.options().dtype(torch::kDouble));
  if (counting && input.numel() > 0) {
    const std::int64_t elements = input.numel() / channels;
    const auto count = static_cast<double>(elements);
    const auto [variance, mean] = torch::var_mean(input.to(statistics_type(input)), reduced_dimensions(input),
                                                  /*unbiased=*/false);
    own = torch::cat({mean.to(torch::kDouble), variance.to(torch::kDouble) * count,
                      torch::full({1}, count, own.options())});
  }
  const torch::Tensor all = torch::empty({world.size(), own.numel()}, own.options());
  world.all_gather(all, own, "batch norm's statistics");
  const torch::Tensor means = all.narrow(1, 0, channels), squares = all.narrow(1, channels, channels);
  const torch::Tensor counts = all.narrow(1, 2 * channels, 1), count = counts.sum();
  const torch::Tensor mean = (means * counts).sum(0) / count;
  return {mean, (squares + (means - mean).square() * counts).sum(0) / count, count};
}

struct Normalisation : torch::autograd::Function<Normalisation> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input,
                               const std::optional<torch::Tensor>& weight,
                               const std::optional<torch::Tensor>& bias, const Statistics& statistics,
                               double epsilon, bool counting, World* world) {
    const torch::Tensor mean = statistics.mean.to(statistics_type(input)),
                        variance = statistics.variance.to(statistics_type(input));
    context->save_for_backward({input, weight.value_or(torch::Tensor()), statistics.mean,
                                (statistics.variance + epsilon).rsqrt(), statistics.count});
    context->saved_data["bias"] = bias.has_value() && bias->defined();
    context->saved_data["counting"] = counting;
    context->saved_data["world"] = reinterpret_cast<std::int64_t>(world);
    return std::get<0>(
        at::native_batch_norm(input, weight, bias, mean, variance, /*training=*/false, 0, epsilon));
  }

  // With g the gradient of the output, y the normalised input, and means over all ranks:
  // (g - mean(g) - y mean(g y)) weight / deviation.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &input = saved[0], &weight = saved[1], &count = saved[4];
    auto* world = reinterpret_cast<World*>(context->saved_data["world"].toInt());
    const torch::Tensor gradient = gradients[0].to(statistics_type(input));
    const torch::Tensor inverse_deviation = per_channel(saved[3], input);
    const torch::Tensor normal =
        (input.to(statistics_type(input)) - per_channel(saved[2], input)) * inverse_deviation;

    const auto dimensions = reduced_dimensions(input);
    const bool counting = context->saved_data["counting"].toBool();
    const torch::Tensor own =
        torch::stack({gradient.sum(dimensions), (gradient * normal).sum(dimensions)}).to(torch::kDouble);
    // Gradients of stand-in data may be anything, such as 0 times infinity.
    const torch::Tensor all = counting ? own.clone() : torch::zeros_like(own);
    world->all_reduce(all, Reduction::sum, "batch norm's gradients");
    const torch::Tensor means = all / count;

    torch::Tensor of_input;
    if (counting) {
      of_input = (gradient - per_channel(means[0], input) - normal * per_channel(means[1], input)) *
                 inverse_deviation;
      if (weight.defined()) of_input = of_input * per_channel(weight, input);
    } else {
      of_input = torch::zeros_like(gradient);  // the statistics do not depend on stand-in data
    }
    const auto as_weight = [&](const torch::Tensor& sums) {
      return weight.defined() ? sums.to(weight.scalar_type()) : sums.to(statistics_type(input));
    };
    return {of_input.to(input.scalar_type()),
            weight.defined() ? as_weight(own[1]) : torch::Tensor(),
            context->saved_data["bias"].toBool() ? as_weight(own[0]) : torch::Tensor(),
            {},
            {},
            {},
            {}};
  }
};

std::unique_ptr<World> all_ranks(World& world) {
  std::vector<int> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return world.group(ranks);
}

}  // namespace

SyncBatchNorm::SyncBatchNorm(World& world) : world_(all_ranks(world)) {}

torch::Tensor SyncBatchNorm::normalised(const torch::Tensor& input,
                                        const std::optional<torch::Tensor>& weight,
                                        const std::optional<torch::Tensor>& bias,
                                        const std::optional<torch::Tensor>& running_mean,
                                        const std::optional<torch::Tensor>& running_variance, double momentum,
                                        double epsilon) {
  Statistics statistics;
  {
    const torch::NoGradGuard no_grad;
    statistics = statistics_of(*world_, input.detach(), counting_);
    const auto follow = [&](const std::optional<torch::Tensor>& running, const torch::Tensor& now) {
      if (running && running->defined())
        running->mul_(1 - momentum).add_(now.to(running->scalar_type()), momentum);
    };
    follow(running_mean, statistics.mean);
    follow(running_variance, statistics.variance * statistics.count / (statistics.count - 1).clamp_min(1));
  }
  return Normalisation::apply(input, weight, bias, statistics, epsilon, counting_, world_.get());
}

void SyncBatchNorm::run(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  // batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)
  constexpr std::size_t arguments = 9, training = 5;
  const bool ours = op.operator_name().name == "aten::batch_norm";
  if (!ours || !torch::jit::peek(stack, training, arguments).toBool()) return op.callBoxed(&stack);
  const auto tensor = [&](std::size_t i) {
    return torch::jit::peek(stack, i, arguments).toOptional<torch::Tensor>();
  };
  const auto number = [&](std::size_t i) { return torch::jit::peek(stack, i, arguments).toDouble(); };
  torch::Tensor result =
      normalised(*tensor(0), tensor(1), tensor(2), tensor(3), tensor(4), number(6), number(7));
  torch::jit::drop(stack, arguments);
  torch::jit::push(stack, std::move(result));
}

}  // namespace runner
