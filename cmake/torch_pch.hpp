// The precompiled header of every target that uses LibTorch.
#pragma once

#include "cmake/plain_pch.hpp"

// Not <torch/torch.h>: every file would then pay for the templates of all of torch::nn, several seconds each.
// Files include what they use: <torch/utils.h>, <torch/nn/modules/linear.h> ..
#include <torch/nn/module.h>
#include <torch/types.h>
