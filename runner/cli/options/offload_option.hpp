#pragma once

#include <optional>
#include <vector>

#include "runner/cli/command.hpp"
#include "runner/predict/offload/offload_model.hpp"

namespace runner::cli {

// --offload and --device-map, of commands that use trained models.
const std::vector<Option>& offload_options();

// Reads the options; without --offload, `into` stays empty. Returns false if they are wrong or contradict
// each other, after showing the error.
bool read_offload(const Arguments& arguments, Session& session, std::optional<OffloadOptions>& into);

}  // namespace runner::cli
