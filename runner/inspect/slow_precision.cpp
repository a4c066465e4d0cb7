#include "runner/inspect/slow_precision.hpp"

#include <ATen/ops/conv2d.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "registry/base/log.hpp"
#include "runner/engine/runtime/device.hpp"

namespace runner {

namespace {

constexpr double worth_a_word = 1.5;  // times slower

using Operator = std::function<void(torch::ScalarType)>;

// These take a few milliseconds each, even if they are slow.
void product(torch::ScalarType type) {
  const torch::Tensor matrix = torch::ones({128, 128}, type);
  torch::mm(matrix, matrix);
}
void convolution(torch::ScalarType type) {
  at::conv2d(torch::ones({2, 16, 32, 32}, type), torch::ones({16, 16, 3, 3}, type));
}

double seconds_of(const Operator& run, torch::ScalarType type) {
  using Clock = std::chrono::steady_clock;
  run(type);  // warm-up
  double best = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto began = Clock::now();
    run(type);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - began).count());
  }
  return best;
}

double slowdown(const Operator& run, torch::ScalarType type) {
  const torch::NoGradGuard no_grad;
  const double ratio = seconds_of(run, type) / seconds_of(run, torch::kFloat);
  return ratio < 10 ? std::round(ratio * 10) / 10 : std::round(ratio);
}

}  // namespace

std::string slow_precision(const Recipe& recipe) {
  const torch::Device device = resolve_device(recipe.run.device);
  const torch::ScalarType type = recipe.precision.build({device})->compute_type();
  if (!device.is_cpu() || (type != torch::kBFloat16 && type != torch::kHalf)) return "";
  const double of_product = slowdown(product, type), of_convolution = slowdown(convolution, type);
  if (std::max(of_product, of_convolution) < worth_a_word) return "";
  return log::format(
      "precision \"{}\" is slower than fp32 on this CPU, which has no instructions for it: as measured now, "
      "a matrix product takes {} times as long, a convolution {} times. precision=fp32 is the better choice "
      "here.",
      recipe.precision.name(), of_product, of_convolution);
}

}  // namespace runner
