#include "runner/inspect/slow_precision.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "registry/log.hpp"
#include "runner/engine/device.hpp"

namespace runner {

namespace {

constexpr double worth_a_word = 1.5;  // times as slow
constexpr std::int64_t side = 256;    // of the matrices: a few milliseconds even where it is slow

double seconds_of_product(torch::ScalarType type) {
  using Clock = std::chrono::steady_clock;
  const torch::NoGradGuard no_grad;
  const torch::Tensor a = torch::ones({side, side}, type), b = torch::ones({side, side}, type);
  torch::mm(a, b);  // prepares what the first call prepares
  double best = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto began = Clock::now();
    torch::mm(a, b);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - began).count());
  }
  return best;
}

}  // namespace

std::string slow_precision(const Recipe& recipe) {
  const torch::Device device = resolve_device(recipe.run.device);
  const torch::ScalarType type = recipe.precision.build({device})->compute_type();
  if (!device.is_cpu() || (type != torch::kBFloat16 && type != torch::kHalf)) return "";
  const double ratio = seconds_of_product(type) / seconds_of_product(torch::kFloat);
  if (ratio < worth_a_word) return "";
  return log::format(
      "precision \"{}\" is {} times as slow as fp32 on this CPU, which has no instructions for it (measured "
      "on a "
      "{} x {} matrix product); precision=fp32 is faster here.",
      recipe.precision.name(), std::round(ratio * 10) / 10, side, side);
}

}  // namespace runner
