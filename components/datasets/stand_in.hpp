#pragma once

#include <memory>
#include <optional>
#include <string>

#include "components/datasets/read/published_files.hpp"

namespace runner {

// Builds the dataset that a recipe allows in place of another; null if it allows none. Throws DataError if
// its examples differ in shape or number of classes.
std::unique_ptr<Dataset> build_stand_in(const std::optional<Part<DatasetKind>>& fallback,
                                        const DatasetInputs& inputs, const DataSpec& wanted,
                                        const std::string& title);

// A stand-in gets the transforms, splits and limits of the dataset it replaces, so it must not have its own.
void check_stand_in(const std::optional<Part<DatasetKind>>& fallback, Report& report);

// Opens the stand-in and records the reason. If there is none, throws the reason and suggests `example`.
Splits open_stand_in(const Dataset* stand_in, const std::string& name, const TransformPipeline& transforms,
                     const DataMissing& reason, const std::string& example);

}  // namespace runner
