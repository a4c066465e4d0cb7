#pragma once

#include "components/models/model.hpp"

namespace runner {

// Puts the adapter into the layers that its targets name, with the values of its weights if it has any, and
// freezes everything else. The model has its own weights already. Throws std::runtime_error if a pattern
// selects nothing, or if the adapter's files do not fit.
void adapt_model(Model& model, const Part<AdapterKind>& part, const std::filesystem::path& base);

// The same without reading files: for the names, shapes and sizes of a model without values.
void adapt_sketch(Model& model, const Part<AdapterKind>& part);

}  // namespace runner
