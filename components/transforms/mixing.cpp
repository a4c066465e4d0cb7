#include "components/transforms/mixing.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace runner {
namespace {

// The logarithm of a draw from the Gamma distribution of scale 1 (Marsaglia and Tsang). Draws for a small
// shape are often too small for a double.
double draw_log_gamma(ExampleRandom& random, double shape) {
  if (shape < 1) {
    const double above = draw_log_gamma(random, shape + 1);
    return above + std::log(1.0 - random.uniform()) / shape;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double normal = random.normal();
    const double v = std::pow(1.0 + c * normal, 3);
    const double level = std::log(1.0 - random.uniform());
    if (v > 0 && level < 0.5 * normal * normal + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

}  // namespace

double draw_share(ExampleRandom& random, double alpha) {
  alpha = std::max(alpha, 1e-300);  // logarithms of draws for less would be infinite
  const double one = draw_log_gamma(random, alpha);
  const double other = draw_log_gamma(random, alpha);
  return 1.0 / (1.0 + std::exp(other - one));
}

void soften_targets(Batch& batch, std::int64_t classes) {
  if (batch.target.is_floating_point()) return;
  const std::int64_t examples = batch.target.numel();
  const auto* labels = batch.target.data_ptr<std::int64_t>();
  torch::Tensor shares = torch::empty({examples, classes}, torch::kFloat32);
  auto* values = shares.data_ptr<float>();
  std::fill_n(values, examples * classes, 0.0F);
  for (std::int64_t i = 0; i < examples; ++i) values[i * classes + labels[i]] = 1.0F;
  batch.target = shares;
}

void blend_with_previous(float* rows, std::int64_t examples, std::int64_t numbers, double share) {
  const auto kept = static_cast<float>(share);
  const auto taken = static_cast<float>(1.0 - share);
  // From last to first, so that the previous example is still unchanged; only the last one has to be saved.
  const std::vector<float> last(rows + (examples - 1) * numbers, rows + examples * numbers);
  for (std::int64_t i = examples - 1; i >= 0; --i) {
    float* row = rows + i * numbers;
    const float* previous = i == 0 ? last.data() : row - numbers;
    for (std::int64_t n = 0; n < numbers; ++n) row[n] = kept * row[n] + taken * previous[n];
  }
}

DataSpec with_soft_targets(DataSpec data) {
  if (data.classes < 1) throw std::runtime_error("needs a dataset with classes.");
  data.target_type = torch::kFloat32;
  data.target_shape = {data.classes};
  return data;
}

}  // namespace runner
