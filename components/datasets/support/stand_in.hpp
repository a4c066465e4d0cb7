#pragma once

#include <memory>
#include <optional>
#include <string>

#include "components/datasets/support/published_files.hpp"

namespace runner {

// The dataset that a recipe allows in place of another, built and found to give examples of the same shape
// and number of classes; null where the recipe allows none. Throws DataError where it does not fit.
std::unique_ptr<Dataset> build_stand_in(const std::optional<Part<DatasetKind>>& fallback,
                                        const DatasetInputs& inputs, const DataSpec& wanted,
                                        const std::string& title);

// A stand-in takes the transforms of the dataset it stands in for: of its own there can be none.
void check_stand_in(const std::optional<Part<DatasetKind>>& fallback, Report& report);

// Opens the stand-in, marked with the reason. Where there is none, throws the reason, and `example` as one
// that would do.
Splits open_stand_in(const Dataset* stand_in, const std::string& name, const TransformPipeline& transforms,
                     const DataMissing& reason, const std::string& example);

}  // namespace runner
