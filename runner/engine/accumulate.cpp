// Engine::accumulate: the gradients of a window of micro-batches; repeated with smaller ones if memory runs
// out. Engine::pass: a forward pass alone.
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "components/contract/example_random.hpp"
#include "registry/base/arithmetic.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/gradients.hpp"
#include "runner/engine/runtime/batch_part.hpp"
#include "runner/engine/runtime/device.hpp"
#include "runner/engine/runtime/out_of_memory.hpp"
#include "runner/engine/strategies/sync_batch_norm.hpp"

namespace runner {

namespace {

// For a rank without examples that must still run a pass: zeros in the shape of its batch, for two examples,
// because batch norm refuses to train on one.
Batch stand_in_for(const Batch& empty) {
  return map_tensors(empty, [](const torch::Tensor& tensor) {
    std::vector<std::int64_t> shape = tensor.sizes().vec();
    shape[0] = 2;
    return torch::zeros(shape, tensor.options());
  });
}

// The examples of the window over all ranks.
std::int64_t examples_of(const Window& window) {
  return std::accumulate(window.sizes_of_batches.begin(), window.sizes_of_batches.end(), std::int64_t{0});
}

// A number is sent as three parts, because gradients are often summed in single precision: the result is
// exact if the number comes from one rank or is a count.
constexpr std::int64_t parts_of_number = 3;

void split_number(double number, double* parts) {
  for (std::int64_t part = 0; part < parts_of_number; ++part) {
    const bool fits = std::abs(number) <= std::numeric_limits<float>::max();
    parts[part] = fits ? static_cast<float>(number) : number;
    number = fits ? number - parts[part] : 0;
  }
}

}  // namespace

WindowLoss Engine::accumulate(const Window& window, const Loss& loss) {
  if (options_.distributed.reproducible) return accumulate_in_shards(window, loss);
  std::optional<UpdateStart> start;  // costs copies, so only if an update may be repeated
  if (options_.on_out_of_memory == OnOutOfMemory::split) start.emplace(weights(), *precision_, device_);
  while (true) {
    std::string why;
    WindowLoss result;
    try {
      result = accumulate_once(window, loss);
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
      why = error.what();
      why.resize(std::min(why.size(), why.find('\n')));  // a stack trace of LibTorch follows
    }
    finish_passes();
    const bool again = start && ranks_ ? world_->any(!why.empty(), "whether memory ran out") : !why.empty();
    if (!again) return over_all_ranks(result, window);
    discard_gradients();
    if (!why.empty()) make_micro_batches_smaller(window, why);
    if (ranks_) use_smallest_micro_batches();
    start->restore();
  }
}

// With synchronised batch norm, ranks process every micro-batch together and never split it.
std::int64_t Engine::parts_of(std::int64_t size) const {
  if (sync_norm_) return 1;
  return size > 0 ? divide_up(size, most_examples_.value_or(size)) : 0;
}

WindowLoss Engine::accumulate_once(const Window& window, const Loss& loss) {
  if (window.seed) {  // dropout differs from rank to rank
    const auto rank = static_cast<std::uint64_t>(world_->rank());
    torch::manual_seed(rank == 0 ? *window.seed : example_seed(*window.seed, rank, 0));
  }
  double weight = 0;
  std::int64_t parts = 0;
  for (const Batch& batch : window.batches) {
    weight += loss.weight(batch);
    parts += parts_of(batch.size());
  }
  begin_window(weight, parts, expected_weight(window));
  torch::Tensor total;
  for (const Batch& micro_batch : window.batches) {
    if (sync_norm_ && micro_batch.size() == 0) {  // the others wait for this rank in every layer
      sync_norm_->set_counting(false);
      pass_for_others(loss_sum_of(placed(stand_in_for(micro_batch)), loss));
      sync_norm_->set_counting(true);
      continue;
    }
    // Of nearly equal size: batch norm refuses a last part of one example.
    const std::int64_t size = micro_batch.size(), count = parts_of(size);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = size * i / count;
      const Batch batch = placed(part_of(micro_batch, first, size * (i + 1) / count - first));
      if (graphs_) {
        const torch::Tensor sum = graphed_pass(batch, loss);
        total = total.defined() ? total + sum : sum;
        continue;
      }
      const torch::Tensor sum = loss_sum_of(batch, loss);
      total = total.defined() ? total + sum.detach() : sum.detach();
      send_loss_early(total, window);
      backward(sum);
    }
  }
  return {total, global_window_weight()};
}

// Takes part in the exchanges of a backward pass, without a trace of its own gradients, which may be
// anything.
void Engine::pass_for_others(const torch::Tensor& loss_sum) {
  count_backward();
  std::vector<torch::Tensor> before;
  for (torch::Tensor& parameter : parameters_) {
    before.push_back(parameter.grad());
    parameter.mutable_grad().reset();
  }
  backward(loss_sum, /*last=*/false);
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = before[i];
}

void Engine::pass(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  model_->train();
  if (batch.size() > 0) {
    forward(batch);
  } else if (sync_norm_) {  // the others wait for this rank in every layer
    sync_norm_->set_counting(false);
    forward(stand_in_for(batch));
    sync_norm_->set_counting(true);
  }
}

void Engine::make_micro_batches_smaller(const Window& window, const std::string& why) {
  std::int64_t largest = 1;
  for (const Batch& batch : window.batches) largest = std::max(largest, batch.size());
  largest = std::min(largest, most_examples_.value_or(largest));
  if (options_.on_out_of_memory == OnOutOfMemory::stop) {
    throw std::runtime_error(log::format(
        "{} examples at once do not fit into memory. Divide loader.batch_size and multiply "
        "train.accumulation_steps by the same number, or set train.on_out_of_memory = \"split\". ({})",
        largest, why));
  }
  if (largest == 1)
    throw std::runtime_error(log::format("Not even one example at a time fits into memory. ({})", why));
  most_examples_ = divide_up(largest, 2);
  log::warning(
      "{} examples at once do not fit into memory: using micro-batches of {} from now on. The number of "
      "examples per update does not change.",
      largest, *most_examples_);
}

// A checkpoint holds one size, that of rank 0. If ranks used different sizes, they would sum in another order
// after a resume.
void Engine::use_smallest_micro_batches() {
  const double own = most_examples_ ? static_cast<double>(*most_examples_) : HUGE_VAL;
  most_examples_ =
      static_cast<std::int64_t>(world_->all_reduce(own, Reduction::min, "the size of micro-batches"));
}

std::optional<double> Engine::expected_weight(const Window& window) const {
  if (!ranks_ || local_ || !example_weight_ || window.sizes_of_batches.empty()) return {};
  return *example_weight_ * static_cast<double>(examples_of(window));
}

// Ranks have exchanged the weights of their parts of the window together with the loss.
void Engine::learn_weight(double weight, const Window& window) {
  if (weight_expected_) {
    if (weight != window_weight_ && weight > 0)
      for (torch::Tensor& gradient : gradients_of(updated_)) gradient.mul_(window_weight_ / weight);
    window_weight_ = weight;
    weight_expected_ = false;
  } else if (weight > 0 && !example_weight_ && !window.sizes_of_batches.empty()) {
    example_weight_ = weight / static_cast<double>(examples_of(window));
  }
}

void Engine::send_loss(const torch::Tensor& own_sum, const Window& window) {
  std::vector<double> numbers = window.numbers_to_sum ? window.numbers_to_sum() : std::vector<double>();
  numbers.insert(numbers.begin(), own_weight_);
  const std::int64_t size = 1 + parts_of_number * static_cast<std::int64_t>(numbers.size());
  // Page-locked, so that the copy to a device does not make the host wait.
  loss_sum_ = torch::zeros({size}, torch::dtype(torch::kFloat64).pinned_memory(copies_from_pinned(device_)));
  double* place = loss_sum_.mutable_data_ptr<double>() + 1;
  for (const double number : numbers) split_number(number, std::exchange(place, place + parts_of_number));
  loss_sum_ = loss_sum_.to(device_, /*non_blocking=*/true);
  if (own_sum.defined()) loss_sum_[0].copy_(own_sum);
  if (ranks_->carries(size)) return ranks_->send_along(loss_sum_);
  loss_work_ = world_->begin_all_reduce(loss_sum_, Reduction::sum, "the loss");
}

void Engine::send_loss_early(const torch::Tensor& own_sum, const Window& window) {
  // With check_collectives every call waits for the other ranks, of which one may still be in batch norm.
  if (sync_norm_ && options_.distributed.check_collectives) return;
  if (backward_left_ == 1 && sends_during_backward()) send_loss(own_sum, window);
}

// Sums gradients and loss over all ranks. Every rank sends the loss before the gradients or with them, even a
// rank without examples.
WindowLoss Engine::over_all_ranks(const WindowLoss& own, const Window& window) {
  if (!ranks_) return own;
  const auto counted = times_->during(TimeLedger::communication);
  if (!loss_sum_.defined()) send_loss(own.sum, window);
  exchange_gradients();
  if (loss_work_) {
    loss_work_->wait();
    loss_work_.reset();
  } else {
    loss_sum_ = ranks_->take_sums_along();
  }
  const torch::Tensor sums =
      std::exchange(loss_sum_, {}).cpu();  // the only time that the host waits in an update
  const torch::Tensor parts = sums.slice(0, 1);
  std::vector<double> numbers;
  const auto* part = parts.const_data_ptr<double>();
  for (; part != parts.const_data_ptr<double>() + parts.numel(); part += parts_of_number)
    numbers.push_back(std::accumulate(part, part + parts_of_number, 0.0));
  learn_weight(numbers[0], window);
  return {sums[0], global_window_weight(), {numbers.begin() + 1, numbers.end()}};
}

}  // namespace runner
