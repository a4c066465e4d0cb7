#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "components/contract/weights.hpp"
#include "runner/predict/load_run.hpp"

namespace runner {

// The weights of the run's model with its adapter added into them, under the names of the model without one
// and in the type that the run's model.weights have.
std::vector<NamedTensor> merged_weights(const TrainedRun& run);

// A folder as HuggingFace's save_pretrained writes it: these weights, and what lies beside model.weights of
// the run: config.json, tokenizer and templates.
void write_merged_folder(const TrainedRun& run, const std::vector<NamedTensor>& weights,
                         const std::filesystem::path& folder);

// How far the model that was written is from the model with its adapter.
struct MergeProof {
  double difference = 0;  // the largest, of any output
  double largest = 0;     // output
  double bound = 0;
  std::int64_t examples = 0;
  std::string inputs;  // what they were

  bool holds() const { return difference <= bound; }  // false for NaN, too
};

// Loads what was written into a new model and compares its outputs on the first validation examples.
MergeProof prove_merged(const TrainedRun& run, const std::filesystem::path& written);

}  // namespace runner
