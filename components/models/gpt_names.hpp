#pragma once

#include <torch/types.h>

#include <map>
#include <string>

namespace runner {

// Files of GPT-2 weights come from HuggingFace's GPT2LMHeadModel, from its GPT2Model (no "transformer."
// before the names) and from nanoGPT (linear layers as [out, in]), with or without the tied head. Throws
// std::runtime_error where the model has a tied head and the file another one.
void to_gpt_names(std::map<std::string, torch::Tensor>& weights, bool tied);

}  // namespace runner
