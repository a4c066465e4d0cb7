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

// Runs `segment` on the inputs. With `checkpoint`, and if gradients are enabled, its activations are not
// kept: the segment runs again in the backward pass, with the same random numbers and the same autocast.
// `segment` is kept until then; it may use no parameters other than those of `owner`.
torch::Tensor run_segment(bool checkpoint, const torch::nn::Module& owner, const Segment& segment,
                          const std::vector<torch::Tensor>& inputs);

}  // namespace runner
