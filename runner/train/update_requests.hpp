#pragma once

#include <torch/types.h>

#include <optional>

#include "components/contract/requests.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// What hooks ask of the coming update.
struct UpdateRequests {
  bool skip = false;
  std::optional<double> learning_rate = {};
};

// A hook may ask on one rank for what those of the others do not: all ranks do it, or their weights would
// differ from there on. Every rank calls it; the larger learning rate counts.
inline UpdateRequests take_together(Requests& requests, World& world) {
  const UpdateRequests own{requests.take_skip(), requests.take_learning_rate()};
  if (world.alone()) return own;
  constexpr double none = -1;
  const torch::Tensor asked =
      torch::tensor({own.skip ? 1.0 : 0.0, own.learning_rate.value_or(none)}, torch::kFloat64);
  world.all_reduce(asked, Reduction::max, "what hooks ask of the update");
  const double rate = asked[1].item<double>();
  return {asked[0].item<double>() > 0, rate == none ? std::nullopt : std::optional(rate)};
}

}  // namespace runner
