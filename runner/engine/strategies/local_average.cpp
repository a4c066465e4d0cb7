#include "runner/engine/strategies/local_average.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <functional>
#include <map>

#include "registry/base/log.hpp"
#include "runner/engine/strategies/flat_tensors.hpp"
#include "runner/engine/strategies/pack_state.hpp"

namespace runner {

namespace {

// Collects the tensors of a state, and describes in `layout` what must be equal on all ranks to average them.
void take_apart(const State& state, std::vector<torch::Tensor>& tensors, std::string& layout) {
  for (const auto& [name, tensor] : state.tensors) {
    layout += log::format("{} {} {};", name, tensor.dtype().name(), tensor.sizes());
    tensors.push_back(tensor);
  }
  for (const auto& [name, integer] : state.integers) layout += log::format("{} {};", name, integer);
  for (const auto& [name, part] : state.parts) {
    layout += name + "/";
    take_apart(part, tensors, layout);
  }
}

}  // namespace

void LocalAverage::passed(double weight) {
  ++windows_;
  weight_ += weight;
}

void LocalAverage::average(const std::vector<NamedTensor>& parameters,
                           const std::vector<NamedTensor>& buffers, Optimizer& optimizer) {
  if (ranks_are_equal()) return;
  const torch::NoGradGuard no_grad;
  const double total = world_.all_reduce(weight_, Reduction::sum, "what ranks have been trained on");
  const double share = total > 0 ? weight_ / total : 1.0 / world_.size();
  std::vector<torch::Tensor> weights;
  for (const NamedTensor& parameter : parameters)
    if (parameter.tensor.requires_grad()) weights.push_back(parameter.tensor.detach());
  for (const NamedTensor& buffer : buffers) weights.push_back(buffer.tensor);
  average(weights, share, "the averaged weights");
  average(optimizer, share);
  windows_ = 0;
  weight_ = 0;
}

void LocalAverage::average(const std::vector<torch::Tensor>& tensors, double share, const char* what) const {
  std::map<torch::ScalarType, std::vector<torch::Tensor>> by_type;
  for (const torch::Tensor& tensor : tensors) by_type[tensor.scalar_type()].push_back(tensor);
  for (const auto& [type, group] : by_type) {
    const bool counts = !torch::isFloatingType(type);  // of batches, of steps: take the maximum
    std::vector<torch::Tensor> at_once;
    for (std::size_t i = 0, bytes = 0; i < group.size(); ++i) {
      at_once.push_back(group[i]);
      bytes += group[i].nbytes();
      if (i + 1 < group.size() && bytes < static_cast<std::size_t>(bytes_at_once_)) continue;
      torch::Tensor flat = flattened(at_once);
      flat = counts ? flat.to(torch::kLong) : flat.mul_(share);  // not every number format can be compared
      world_.all_reduce(flat, counts ? Reduction::max : Reduction::sum, what);
      copy_from_flat(flat, at_once);
      at_once.clear();
      bytes = 0;
    }
  }
}

void LocalAverage::average(Optimizer& optimizer, double share) const {
  State state = optimizer.save();
  std::vector<torch::Tensor> tensors;
  std::string layout;
  take_apart(state, tensors, layout);
  // Shifted to be exact as a double. All are equal if minimum and maximum are.
  const auto hash = static_cast<double>(std::hash<std::string>{}(layout) >> 12U);
  const char* what = "the layout of the optimizer's state";
  // Not as operands of one expression, whose order may differ between ranks built by different compilers.
  const double least = world_.all_reduce(hash, Reduction::min, what);
  const double most_of_all = world_.all_reduce(hash, Reduction::max, what);
  if (least == most_of_all) {
    average(tensors, share, "the averaged state of the optimizer");
  } else {
    // Some rank has not used a parameter yet: all take the state of the rank that was trained on most.
    const torch::Tensor weights = world_.gather_rows(torch::full({1}, weight_, torch::kFloat64), what);
    const auto most = static_cast<int>(weights.argmax().item<std::int64_t>());
    state = unpack(world_.broadcast_text(world_.rank() == most ? pack(state) : "", most, what));
  }
  optimizer.load(state);
}

}  // namespace runner
