#pragma once

#include "components/models/support/weight_names.hpp"

namespace runner {

// Files of GPT-2 weights come from HuggingFace's GPT2LMHeadModel, from its GPT2Model (no "transformer."
// before the names) and from nanoGPT (linear layers as [out, in]), with or without the tied head.
void to_gpt_names(NamedWeights& weights, bool tied);

}  // namespace runner
