#include "runner/engine/runtime/graphed_passes.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <algorithm>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "registry/base/log.hpp"
#include "runner/engine/runtime/batch_part.hpp"
#include "runner/engine/runtime/cuda_library.hpp"

namespace runner {

namespace {

// The first passes cannot be recorded: libraries choose their algorithms and allocate workspaces in them.
constexpr std::int64_t usual_passes = 3;
// Each graph keeps the memory of its activations.
constexpr std::int64_t most_graphs = 4;

std::string shapes_of(const Batch& batch) {
  std::ostringstream text;
  map_tensors(batch, [&](const torch::Tensor& tensor) {
    text << tensor.sizes() << tensor.strides() << tensor.dtype() << ';';
    return tensor;
  });
  for (const std::string& name : std::views::keys(batch.extra)) text << name << ';';
  return text.str();
}

void copy_into(const Batch& fixed, const Batch& batch) {
  const auto copy = [](const torch::Tensor& to, const torch::Tensor& from) {
    if (from.defined()) torch::Tensor(to).copy_(from, /*non_blocking=*/true);
  };
  copy(fixed.input, batch.input);
  copy(fixed.target, batch.target);
  for (const auto& [name, tensor] : batch.extra) copy(fixed.extra.at(name), tensor);
}

c10::Stream enter_own_stream(const torch::Device& device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  if (device.is_cuda()) {  // loading the library registers CUDA graphs
    if (const CudaLibrary& library = cuda_library(); !library.handle)
      throw std::runtime_error(
          log::format("train.cuda_graphs needs {}, which this program was built without: delete it. ({})",
                      CudaLibrary::name, library.problem));
  }
  if (!at::has_graph_impl(device.type()))
    throw std::runtime_error(log::format(
        "train.cuda_graphs needs a GPU, but this run computes on {}: delete it, or set run.device.",
        device.str()));
  if (device.is_cpu()) return guard.getStream(device);  // which has only one
  return guard.exchangeStream(guard.getStreamFromGlobalPool(device));
}

}  // namespace

struct GraphedPasses::Recording {
  std::int64_t passes = 0;  // before the recording
  std::unique_ptr<at::GraphImplInterface> graph;
  Batch batch;
  torch::Tensor start, sum;
  std::vector<torch::Tensor> gradients;  // for each parameter; undefined if it has none
};

GraphedPasses::GraphedPasses(const torch::Device& device)
    : device_(device), before_(enter_own_stream(device)) {}

GraphedPasses::~GraphedPasses() {
  forget();
  c10::impl::VirtualGuardImpl(device_.type()).exchangeStream(before_);
}

void GraphedPasses::forget() { recordings_.clear(); }

torch::Tensor GraphedPasses::run(const Batch& batch, const std::vector<torch::Tensor>& parameters,
                                 const Forward& forward, const Start& start) {
  Recording& recording = recordings_[shapes_of(batch)];
  if (!recording.graph) {
    const auto graphs = std::ranges::count_if(std::views::values(recordings_),
                                              [](const Recording& each) { return each.graph != nullptr; });
    if (recording.passes++ < usual_passes || graphs >= most_graphs) {
      const torch::Tensor sum = forward(batch);
      recording.start = start(sum);
      sum.backward(recording.start);
      return sum.detach();
    }
    record(recording, batch, parameters, forward, recording.start.clone());
  }
  const torch::NoGradGuard no_grad;
  copy_into(recording.batch, batch);
  recording.start.copy_(start(recording.sum));
  recording.graph->replay();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const torch::Tensor& gradient = recording.gradients[i];
    torch::Tensor& sum = torch::Tensor(parameters[i]).mutable_grad();
    if (!gradient.defined()) continue;
    if (sum.defined())
      sum.add_(gradient);
    else
      sum = gradient.clone();
  }
  return recording.sum.clone();
}

void GraphedPasses::record(Recording& recording, const Batch& batch,
                           const std::vector<torch::Tensor>& parameters, const Forward& forward,
                           const torch::Tensor& start) const {
  recording.batch = map_tensors(batch, [](const torch::Tensor& tensor) { return tensor.clone(); });
  recording.start = start;
  auto graph = at::create_graph_impl(device_.type());
  // Earlier gradients are set aside, so that new ones are allocated in the memory of the graph.
  std::vector<torch::Tensor> earlier(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    earlier[i] = std::exchange(torch::Tensor(parameters[i]).mutable_grad(), {});
  graph->capture_begin({0, 0}, at::GraphCaptureMode::ThreadLocal);
  try {
    const torch::Tensor sum = forward(recording.batch);
    sum.backward(recording.start);
    recording.sum = sum.detach();
    graph->capture_end();
  } catch (const std::exception& error) {
    try {
      graph->capture_end();
    } catch (const std::exception&) {
      // The first error is the cause.
    }
    throw std::runtime_error(log::format(
        "The model's forward and backward pass cannot be recorded as a graph: set train.cuda_graphs = false. "
        "({})",
        error.what()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    recording.gradients.push_back(
        std::exchange(torch::Tensor(parameters[i]).mutable_grad(), std::move(earlier[i])));
  recording.graph = std::move(graph);
}

}  // namespace runner
