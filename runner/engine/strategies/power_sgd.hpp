#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Gradients are sent as products of two thin matrices: Vogels et al., "PowerSGD: Practical Low-Rank Gradient
// Compression for Distributed Optimization", 2019, as PyTorch's powerSGD_hook computes it. With M = gradient
// + error and Q from the previous update,
//
//   P = orthogonal(sum over ranks of M orthogonal(Q)),  Q = sum over ranks of M^T P,  gradient = P Q^T,
//
// and the rest of M is the error that is added to the next gradient.
class PowerSgd final : public Stateful {
 public:
  PowerSgd(World& world, std::int64_t rank) : world_(world), rank_(rank) {}

  // True for matrices for which P and Q together have less than half as many elements. A tensor with more
  // dimensions is treated as a matrix: its first dimension by all others.
  bool compresses(const torch::Tensor& parameter) const;

  // The gradients of these parameters become approximately the sums over all ranks. A parameter for which no
  // rank has a gradient gets none.
  void reduce(const std::vector<NamedTensor>& parameters);

  // Each rank saves its own error; rank 0 also what all have in common. load() gets the states of all ranks
  // as one. Another number of ranks shares their sum, which is all that matters but for rounding.
  State save() const override;
  void load(const State& state) override;

  std::int64_t bytes_sent() const { return bytes_sent_; }

 private:
  struct Memory {
    torch::Tensor error, q;
  };
  Memory& memory_of(const NamedTensor& parameter);
  torch::Tensor first_q(std::int64_t columns, std::int64_t rank, std::uint64_t seed) const;
  torch::Tensor sum_of(const std::vector<torch::Tensor>& pieces, const char* what);

  World& world_;
  const std::int64_t rank_;
  std::map<std::string, Memory> memory_;  // by parameter
  std::int64_t bytes_sent_ = 0;
};

}  // namespace runner
