#include "runner/ranks/collectives.hpp"

#include <torch/types.h>

#include <array>

#include "registry/base/log.hpp"

namespace runner {

namespace {

c10d::ReduceOp operation_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::min: return c10d::ReduceOp::MIN;
    case Reduction::max: return c10d::ReduceOp::MAX;
    default: return c10d::ReduceOp::SUM;
  }
}

// Gloo does not know every number format.
torch::Tensor bytes_of(const torch::Tensor& flat) { return flat.detach().view(torch::kUInt8); }

class Several final : public Work::Pending {
 public:
  explicit Several(std::vector<Work> works) : works_(std::move(works)) {}
  void wait() override {
    for (Work& work : works_) work.wait();
  }

 private:
  std::vector<Work> works_;
};

}  // namespace

Work CollectiveWorld::begin_all_reduce(const torch::Tensor& tensor, Reduction reduction,
                                       std::string_view what) {
  constexpr std::array names{"all_reduce (sum)", "all_reduce (min)", "all_reduce (max)"};
  return begin(names[static_cast<std::size_t>(reduction)], what, tensor, [&](c10d::Backend& group) {
    std::vector<torch::Tensor> tensors{tensor};
    return group.allreduce(tensors, {.reduceOp = operation_of(reduction)});
  });
}

Work CollectiveWorld::begin_all_gather(const torch::Tensor& all, const torch::Tensor& part,
                                       std::string_view what) {
  return begin("all_gather", what, part, [&](c10d::Backend& group) {
    torch::Tensor output = bytes_of(all.view(-1)), input = bytes_of(part.reshape(-1));
    return group._allgather_base(output, input);
  });
}

Work CollectiveWorld::begin_reduce_scatter(const torch::Tensor& part, const torch::Tensor& all,
                                           std::string_view what) {
  return begin("reduce_scatter", what, all, [&](c10d::Backend& group) {
    torch::Tensor output = part.view(-1), input = all.reshape(-1);
    return group._reduce_scatter_base(output, input);
  });
}

Work CollectiveWorld::begin_reduce(const torch::Tensor& tensor, int to, std::string_view what) {
  // Gloo sends up to twice as much as necessary if there are more than 2 MiB for each rank.
  const std::int64_t most = size() * (std::int64_t{2} << 20) / tensor.element_size();
  if (tensor.dim() == 1 && tensor.numel() > most) {
    std::vector<Work> pieces;
    for (const torch::Tensor& piece : tensor.split(most)) pieces.push_back(begin_reduce(piece, to, what));
    return Work(std::make_unique<Several>(std::move(pieces)));
  }
  return begin(log::format("reduce (to rank {})", to), what, tensor, [&](c10d::Backend& group) {
    std::vector<torch::Tensor> tensors{tensor};
    return group.reduce(tensors, {.reduceOp = c10d::ReduceOp::SUM, .rootRank = to});
  });
}

Work CollectiveWorld::begin_broadcast(const torch::Tensor& tensor, int from, std::string_view what) {
  return begin(log::format("broadcast (from rank {})", from), what, tensor, [&](c10d::Backend& group) {
    std::vector<torch::Tensor> tensors{tensor};
    return group.broadcast(tensors, {.rootRank = from});
  });
}

}  // namespace runner
