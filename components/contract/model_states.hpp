#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "components/contract/state.hpp"

namespace runner {

// The models of a checkpoint, by name: "model", or "model.encoder" and "model.head" if there are several.
using ModelStates = std::map<std::string, State>;

// Called before a checkpoint is written: may write files into the folder, which become part of the
// checkpoint, and may erase models from the map, which are then not saved by default. Called before a
// checkpoint is loaded: reads its files from the folder and puts the models back into the map.
using ModelStatesHook = std::function<void(ModelStates& models, const std::filesystem::path& folder)>;

}  // namespace runner
