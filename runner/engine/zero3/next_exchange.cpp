#include "runner/engine/zero3/next_exchange.hpp"

#include <torch/types.h>

namespace runner {

// Encodes kind and unit as one number; there are fewer units than 2^32.
NextExchange agree_on(World& world, const NextExchange& own) {
  constexpr std::int64_t units = std::int64_t{1} << 32;
  const torch::Tensor number = torch::full(
      {1}, static_cast<std::int64_t>(own.kind) * units + static_cast<std::int64_t>(own.unit), torch::kInt64);
  world.all_reduce(number, Reduction::max, "what to exchange next");
  const auto agreed = number.item<std::int64_t>();
  return {static_cast<NextExchange::Kind>(agreed / units), static_cast<std::size_t>(agreed % units)};
}

}  // namespace runner
