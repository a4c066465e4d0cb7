#pragma once

#include <optional>
#include <vector>

#include "runner/cli/command.hpp"
#include "runner/inference/offload/offload_model.hpp"

namespace runner::cli {

// --offload and --device-map, of commands that use trained models.
const std::vector<Option>& offload_options();

// What they say; nothing in `into` without --offload. False: they make no sense together, and the person was
// told so.
bool read_offload(const Arguments& arguments, Session& session, std::optional<OffloadOptions>& into);

}  // namespace runner::cli
