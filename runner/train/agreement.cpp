#include "runner/train/agreement.hpp"

#include <torch/types.h>

namespace runner {

UpdateRequests take_update_requests(Requests& requests) {
  return {requests.take_skip(), requests.take_learning_rate()};
}

void put_back(const UpdateRequests& taken, Requests& requests) {
  if (taken.skip) requests.skip_update();
  if (taken.learning_rate) requests.learning_rate(*taken.learning_rate);
}

Agreement agree(const Agreement& own, World& world) {
  constexpr double no_rate = -1;
  const torch::Tensor wishes =
      torch::tensor({own.stop ? 1.0 : 0.0, static_cast<double>(own.signal), own.checkpoint ? 1.0 : 0.0,
                     own.seconds, own.update.skip ? 1.0 : 0.0, own.update.learning_rate.value_or(no_rate)},
                    torch::kFloat64);
  world.all_reduce(wishes, Reduction::max, "what to do next");
  const double* agreed = wishes.const_data_ptr<double>();
  const double rate = agreed[5];
  return {agreed[0] > 0,
          static_cast<int>(agreed[1]),
          agreed[2] > 0,
          agreed[3],
          {agreed[4] > 0, rate == no_rate ? std::nullopt : std::optional(rate)}};
}

}  // namespace runner
