#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.hpp"
#include "registry/value.hpp"
#include "runner/inspect/rank_estimate.hpp"

namespace runner {

// The memory and computation that a run will need, determined without reading data.
struct Estimate {
  std::string model, optimizer;  // their names
  std::int64_t parameters = 0;
  std::int64_t trained_parameters = 0;
  std::int64_t weight_bytes = 0;  // parameters and buffers
  std::int64_t gradient_bytes = 0;
  std::int64_t optimizer_bytes = 0;
  std::int64_t batch_size = 0, examples_per_step = 0;
  bool passed = true;                 // false: activations and arithmetic are not known
  std::string obstacle = {};          // why no example could be passed through the model
  std::int64_t activation_bytes = 0;  // of one micro-batch, in full precision
  double forward_flops_per_example = 0;
  double step_flops = 0;            // forward and backward, all micro-batches of an update
  std::int64_t train_examples = 0;  // 0: not known before the data is read
  std::optional<std::int64_t> steps_per_epoch, total_steps;
  double peak_lr = 0;
  std::vector<std::pair<double, double>> lr_curve = {};  // step and rate; empty if the length is unknown
  std::optional<RankEstimate> ranks = {};  // with several ranks; all bytes are then those of one rank

  std::int64_t total_bytes() const {
    return weight_bytes + gradient_bytes + optimizer_bytes + activation_bytes +
           (ranks ? ranks->exchange_bytes : 0);
  }
};

// `resolved` is a complete, conformed recipe. Throws if an example does not fit the model and the loss, or if
// the recipe cannot run on this number of ranks.
Estimate estimate(const Value& resolved, const Registry& registry, int ranks = 1);

}  // namespace runner
