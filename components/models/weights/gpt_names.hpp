#pragma once

#include "components/models/weights/weight_names.hpp"

namespace runner {

// Converts weights to the names and shapes of HuggingFace's GPT2LMHeadModel. Files also come from its
// GPT2Model (no "transformer." before the names) and from nanoGPT (linear layers as [out, in]), with or
// without the tied head.
void to_gpt_names(NamedWeights& weights, bool tied);

}  // namespace runner
