#pragma once

#include "runner/engine/world.hpp"

namespace runner {

// One rank of many, without the others: collectives change no tensor, and only count bytes. Used to estimate
// what ranks would exchange, in one process and without values.
class CountingWorld final : public World {
 public:
  CountingWorld(int rank, int size) : World({rank, size, rank, size, "here"}) {}

  // The average of a rank, with the algorithms of Gloo: rings and trees.
  std::int64_t bytes_sent() const { return static_cast<std::int64_t>(bytes_); }

  Work begin_all_reduce(const torch::Tensor& tensor, Reduction, std::string_view) override {
    return count(tensor, 2 * others());
  }
  Work begin_all_gather(const torch::Tensor& all, const torch::Tensor&, std::string_view) override {
    return count(all, others());
  }
  Work begin_reduce_scatter(const torch::Tensor&, const torch::Tensor& all, std::string_view) override {
    return count(all, 2 * others());  // Gloo sums all of it everywhere
  }
  Work begin_reduce(const torch::Tensor& tensor, int, std::string_view) override {
    return count(tensor, others() * (1 + 1.0 / size()));  // scattered, then collected
  }
  Work begin_broadcast(const torch::Tensor& tensor, int, std::string_view) override {
    return count(tensor, others());
  }

 private:
  double others() const { return 1 - 1.0 / size(); }
  Work count(const torch::Tensor& tensor, double times) {
    bytes_ += times * static_cast<double>(tensor.nbytes());
    return {};
  }

  double bytes_ = 0;
};

}  // namespace runner
