#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "components/models/model.hpp"
#include "runner/inspect/optimizer_bytes.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

// The peak needs of one of several ranks: the rank that needs most.
struct RankEstimate {
  int ranks = 1;
  std::int64_t weight_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  std::int64_t exchange_bytes = 0;                     // communication buffers
  std::int64_t offloaded_bytes = 0;                    // not counted above: with distributed.offload
  std::int64_t smallest_share = 0, largest_share = 0;  // bytes of the parameters that a rank updates
  std::int64_t sent_bytes = 0;                         // by a rank in one update, on average
};

// Simulates one update of every rank, without other processes and without values. Throws std::runtime_error
// if the recipe cannot run on this many ranks.
RankEstimate estimate_ranks(const Recipe& recipe, Model& model, int ranks);

// The memory of the optimizer of one of several ranks, which updates some of the parameters, or slices of
// them. Throws if the optimizer refuses so few parameters.
OptimizerBytes optimizer_bytes_of_rank(const Recipe& recipe,
                                       const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                                       const std::function<bool(const std::string&)>& updates, int rank,
                                       int ranks);

}  // namespace runner
