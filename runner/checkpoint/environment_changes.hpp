#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/checkpoint/checkpoint.hpp"

namespace runner {

// What has changed since the checkpoint was written: versions of the program and of LibTorch, plugins,
// threads and the number of ranks, with `examples_of_rank` in a micro-batch of each if they mean larger
// batches. One line to show for each: "libtorch: 2.6.0 -> 2.7.0".
std::vector<std::string> environment_changes(const CheckpointSummary& checkpoint,
                                             const std::map<std::string, std::string>& versions,
                                             std::int64_t ranks, std::int64_t examples_of_rank = 0);

}  // namespace runner
