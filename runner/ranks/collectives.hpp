#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>

#include "runner/engine/world.hpp"

namespace runner {

// A world that uses the collectives of a c10d group.
class CollectiveWorld : public World {
 public:
  using World::World;

  using World::all_reduce;
  Work begin_all_reduce(const torch::Tensor& tensor, Reduction reduction, std::string_view what) override;
  Work begin_all_gather(const torch::Tensor& all, const torch::Tensor& part, std::string_view what) override;
  Work begin_reduce_scatter(const torch::Tensor& part, const torch::Tensor& all,
                            std::string_view what) override;
  Work begin_reduce(const torch::Tensor& tensor, int to, std::string_view what) override;
  Work begin_broadcast(const torch::Tensor& tensor, int from, std::string_view what) override;

 protected:
  using Start = std::function<c10::intrusive_ptr<c10d::Work>(c10d::Backend&)>;

  // Starts the collective on the group for tensors such as this one.
  virtual Work begin(std::string_view operation, std::string_view what, const torch::Tensor& tensor,
                     const Start& start) = 0;
};

}  // namespace runner
