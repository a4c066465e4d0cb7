#pragma once

#include <ATen/core/GraphImplInterface.h>
#include <torch/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "components/contract/batch.hpp"

namespace runner {

// Forward and backward of a micro-batch as a graph that the device replays (CUDA graphs), which saves the CPU
// the launch of many small operators. A graph is recorded for each shape of micro-batches that occurs often;
// others are computed as usual. A graph reads and writes at fixed addresses: batches are copied there, and
// gradients from there, so that other code need not know about graphs.
class GraphedPasses {
 public:
  using Forward = std::function<torch::Tensor(const Batch&)>;  // the sum of the losses
  using Start =
      std::function<torch::Tensor(const torch::Tensor& sum)>;  // the gradient that backward starts with

  // Makes a new stream the current one, as recording requires. Throws if the device cannot record.
  explicit GraphedPasses(const torch::Device& device);
  ~GraphedPasses();
  GraphedPasses(const GraphedPasses&) = delete;
  GraphedPasses& operator=(const GraphedPasses&) = delete;

  // Adds the gradients of the micro-batch to those of the parameters. Returns the sum of the losses.
  torch::Tensor run(const Batch& batch, const std::vector<torch::Tensor>& parameters, const Forward& forward,
                    const Start& start);
  void forget();  // drops all recordings, because other parameters are trained from now on

 private:
  struct Recording;

  void record(Recording& recording, const Batch& batch, const std::vector<torch::Tensor>& parameters,
              const Forward& forward, const torch::Tensor& start) const;

  const torch::Device device_;
  const c10::Stream before_;
  std::map<std::string, Recording> recordings_;  // by the shapes of the batch
};

}  // namespace runner
