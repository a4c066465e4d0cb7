#include "runner/train/agreement.hpp"

#include <torch/types.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

#include "registry/base/log.hpp"

namespace runner {

namespace {

// The checkpoint and the clock come first, then one place for each signal number.
constexpr std::size_t checkpoint_place = 0, seconds_place = 1, first_signal_place = 2, signals = 32;

double own_clock(const Events& own, const World& world) { return world.is_main() ? own.seconds : 0; }

}  // namespace

std::vector<double> event_numbers(const Events& own, const World& world) {
  std::vector<double> sums(first_signal_place + signals);
  sums[checkpoint_place] = own.checkpoint ? 1 : 0;
  sums[seconds_place] = own_clock(own, world);
  if (own.signal > 0) sums[first_signal_place + std::min<std::size_t>(own.signal, signals - 1)] = 1;
  return sums;
}

Events events_from(const std::vector<double>& sums) {
  Events events{.checkpoint = sums[checkpoint_place] > 0, .seconds = sums[seconds_place]};
  for (std::size_t signal = 1; signal < signals; ++signal)
    if (sums[first_signal_place + signal] > 0) events.signal = static_cast<int>(signal);
  return events;
}

UpdateRequests take_update_requests(Requests& requests) {
  return {requests.take_skip(), requests.take_learning_rate()};
}

void put_back(const UpdateRequests& taken, Requests& requests) {
  if (taken.skip) requests.skip_update();
  if (taken.learning_rate) requests.learning_rate(*taken.learning_rate);
}

double with_request(double checksum, const Trainability& request) {
  const std::string text =
      log::format("{} {} {} {}", checksum, request.pattern, request.trained, request.holder);
  return static_cast<double>(std::hash<std::string>{}(text) >> 12U);  // exact as a double
}

Agreement agree(const Agreement& own, World& world) {
  constexpr double no_rate = -1;
  const torch::Tensor wishes = torch::tensor(
      {own.stop ? 1.0 : 0.0, static_cast<double>(own.events.signal), own.events.checkpoint ? 1.0 : 0.0,
       own_clock(own.events, world), own.update.skip ? 1.0 : 0.0, own.update.learning_rate.value_or(no_rate),
       own.trainability, -own.trainability},
      torch::kFloat64);
  world.all_reduce(wishes, Reduction::max, "what to do next");
  const double* agreed = wishes.const_data_ptr<double>();
  const double rate = agreed[5];
  if (agreed[6] != -agreed[7])
    throw std::runtime_error(
        "The hooks of the ranks have asked to freeze or to train different parameters: every rank "
        "has to make such a request, in the same step.");
  return {{static_cast<int>(agreed[1]), agreed[2] > 0, agreed[3]},
          agreed[0] > 0,
          {agreed[4] > 0, rate == no_rate ? std::nullopt : std::optional(rate)},
          own.trainability};
}

}  // namespace runner
