#pragma once

#include <string>

#include "components/contract/data_spec.hpp"

namespace runner {

// What the model was built for, as JSON beside its weights: it can be built again without the data.
std::string write_data_spec(const DataSpec& data);
DataSpec read_data_spec(const std::string& text);  // throws std::runtime_error

}  // namespace runner
