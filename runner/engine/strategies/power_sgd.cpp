#include "runner/engine/strategies/power_sgd.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "components/torch/finite.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

torch::Tensor as_matrix(const torch::Tensor& tensor) {
  return tensor.reshape({tensor.size(0), -1}).to(torch::kFloat);
}

std::string error_of(const std::string& parameter, int rank) {
  return parameter + ".error." + std::to_string(rank);
}

torch::Tensor orthogonal(const torch::Tensor& matrix) { return std::get<0>(at::linalg_qr(matrix)); }

// One gradient while its factors are exchanged.
struct Exchange {
  torch::Tensor gradient;  // undefined if this rank has none
  torch::Tensor& matrix;   // gradient plus error; in the end the new error
  torch::Tensor& q;
  torch::Tensor p = {};
};

// Consecutive pieces of a flat tensor.
class Pieces {
 public:
  explicit Pieces(torch::Tensor flat) : flat_(std::move(flat)) {}
  torch::Tensor next(at::IntArrayRef shape) {
    const std::int64_t count = c10::multiply_integers(shape);
    return flat_.narrow(0, std::exchange(offset_, offset_ + count), count).view(shape);
  }

 private:
  torch::Tensor flat_;
  std::int64_t offset_ = 0;
};

}  // namespace

bool PowerSgd::compresses(const torch::Tensor& parameter) const {
  if (parameter.dim() < 2 || parameter.numel() == 0) return false;
  const std::int64_t rows = parameter.size(0), columns = parameter.numel() / rows;
  return 2 * (rows + columns) * std::min({rows, columns, rank_}) < rows * columns;
}

// The same numbers on all ranks: the seed is the position of the parameter among the others.
torch::Tensor PowerSgd::first_q(std::int64_t columns, std::int64_t rank, std::uint64_t seed) const {
  return torch::randn({columns, rank}, at::detail::createCPUGenerator(seed));
}

PowerSgd::Memory& PowerSgd::memory_of(const NamedTensor& parameter) {
  Memory& memory = memory_[parameter.name];
  if (memory.q.defined()) {  // on the CPU if it was loaded
    memory.q = memory.q.to(parameter.tensor.device());
    memory.error = memory.error.to(parameter.tensor.device());
    return memory;
  }
  const std::int64_t rows = parameter.tensor.size(0), columns = parameter.tensor.numel() / rows;
  const auto on_device = parameter.tensor.options().dtype(torch::kFloat).requires_grad(false);
  memory.error = torch::zeros({rows, columns}, on_device);
  memory.q = first_q(columns, std::min({rows, columns, rank_}), memory_.size()).to(on_device.device());
  return memory;
}

torch::Tensor PowerSgd::sum_of(const std::vector<torch::Tensor>& pieces, const char* what) {
  std::vector<torch::Tensor> rows;
  for (const torch::Tensor& piece : pieces) rows.push_back(piece.reshape(-1));
  const torch::Tensor flat = torch::cat(rows);
  bytes_sent_ += static_cast<std::int64_t>(flat.nbytes());
  world_.all_reduce(flat, Reduction::sum, what);
  return flat;
}

void PowerSgd::reduce(const std::vector<NamedTensor>& parameters) {
  if (parameters.empty()) return;
  const torch::NoGradGuard no_grad;
  std::vector<Exchange> exchanges;
  std::vector<torch::Tensor> pieces;
  const auto count = static_cast<std::int64_t>(parameters.size());
  const torch::Tensor present = torch::zeros(count);
  for (const NamedTensor& parameter : parameters) {
    Memory& memory = memory_of(parameter);
    Exchange& exchange = exchanges.emplace_back(parameter.tensor.grad(), memory.error, memory.q);
    if (exchange.gradient.defined()) {
      present[static_cast<std::int64_t>(exchanges.size()) - 1] = 1;
      exchange.matrix.add_(as_matrix(exchange.gradient));
    }
    exchange.q = orthogonal(exchange.q);
    pieces.push_back(exchange.matrix.matmul(exchange.q));
  }
  pieces.push_back(present.to(pieces.front().device()));

  const torch::Tensor left = sum_of(pieces, "the left factors of the gradients");
  // If this rank has all gradients, the sums need not be read, which would wait for the device.
  const bool complete =
      std::ranges::all_of(exchanges, [](const Exchange& one) { return one.gradient.defined(); });
  const torch::Tensor there =
      complete ? present : left.narrow(0, left.numel() - count, count).to(torch::kCPU);
  Pieces lefts(left);
  pieces.clear();
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    Exchange& exchange = exchanges[i];
    const torch::Tensor sum = lefts.next({exchange.matrix.size(0), exchange.q.size(1)});
    if (there.data_ptr<float>()[i] == 0) continue;
    exchange.p = orthogonal(sum);
    pieces.push_back(exchange.matrix.t().matmul(exchange.p));
  }
  if (pieces.empty()) return;

  Pieces rights(sum_of(pieces, "the right factors of the gradients"));
  std::vector<torch::Tensor> factors(exchanges.size());
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    Exchange& exchange = exchanges[i];
    if (!exchange.p.defined()) continue;
    exchange.q = rights.next(exchange.q.sizes()).clone();
    const torch::Tensor sum = exchange.p.matmul(exchange.q.t());
    const torch::Tensor& parameter = parameters[i].tensor;
    if (!exchange.gradient.defined()) exchange.gradient = torch::empty_like(parameter);
    exchange.gradient.copy_(sum.view(parameter.sizes()));
    parameter.mutable_grad() = exchange.gradient;
    exchange.matrix.sub_(sum, 1.0 / world_.size());
    factors[i] = exchange.q;
  }
  const std::vector<bool> finite = each_finite(factors);
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    Exchange& exchange = exchanges[i];
    if (finite[i]) continue;  // otherwise it would spoil all later gradients
    exchange.matrix.zero_();
    exchange.q = first_q(exchange.q.size(0), exchange.q.size(1), i + 1).to(exchange.q.device());
  }
}

State PowerSgd::save() const {
  State state{.integers = {{"ranks", world_.size()}}};
  for (const auto& [name, memory] : memory_) {
    state.tensors[error_of(name, world_.rank())] = memory.error;
    if (world_.is_main()) state.tensors[name + ".q"] = memory.q;
  }
  return state;
}

void PowerSgd::load(const State& state) {
  const auto ranks = static_cast<int>(StateReader(state).integer("ranks"));
  memory_.clear();
  const auto saved = [&](const std::string& entry) {
    const auto found = state.tensors.find(entry);
    if (found == state.tensors.end()) throw StateError(in_quotes(entry) + " is missing");
    return found->second;
  };
  constexpr std::string_view factor = ".q";
  for (const auto& [entry, tensor] : state.tensors) {
    if (!entry.ends_with(factor)) continue;
    const std::string name = entry.substr(0, entry.size() - factor.size());
    Memory& memory = memory_[name];
    memory.q = tensor.clone();
    if (ranks == world_.size()) {
      memory.error = saved(error_of(name, world_.rank())).clone();
      continue;
    }
    memory.error = saved(error_of(name, 0)).clone();
    for (int rank = 1; rank < ranks; ++rank) memory.error.add_(saved(error_of(name, rank)));
    memory.error.div_(world_.size());
  }
  if (state.tensors.size() != memory_.size() * static_cast<std::size_t>(ranks + 1))
    throw StateError("it is not the state of compression = \"powersgd\"");
}

}  // namespace runner
