#pragma once

#include <string>

#include "components/contract/data_spec.hpp"

namespace runner {

// The data that the model was built for, saved as JSON so that the model can be built without the data.
std::string write_data_spec(const DataSpec& data);
DataSpec read_data_spec(const std::string& text);  // throws std::runtime_error

}  // namespace runner
