#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>
#include <vector>

namespace runner {

constexpr std::string_view checkpoint_doc =
    "Activation checkpointing: keep only the input of each block and recompute the rest in the backward "
    "pass. Less memory, more time.";

using Segment = std::function<torch::Tensor(const std::vector<torch::Tensor>&)>;

// What `segment` makes of the inputs. With `checkpoint`, where gradients will be asked for, nothing of what
// happens inside is kept; it happens again in the backward pass, with the same random numbers and under the
// same autocast. `segment` uses no parameters but those of `owner`, and is kept until then.
torch::Tensor run_segment(bool checkpoint, const torch::nn::Module& owner, const Segment& segment,
                          const std::vector<torch::Tensor>& inputs);

}  // namespace runner
