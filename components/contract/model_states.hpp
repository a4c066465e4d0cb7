#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "components/contract/state.hpp"

namespace runner {

// The models of a checkpoint, by name: "model", or "model.encoder" and "model.head" where there are several.
using ModelStates = std::map<std::string, State>;

// Before a checkpoint is written: may write files into the folder, which become part of the checkpoint, and
// take models out of the default saving by erasing them here. Before one is loaded, the mirror image: reads
// its files from the folder and puts the models back.
using ModelStatesHook = std::function<void(ModelStates& models, const std::filesystem::path& folder)>;

}  // namespace runner
