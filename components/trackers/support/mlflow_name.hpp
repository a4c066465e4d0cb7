#pragma once

#include <string>
#include <string_view>

namespace runner {

// A name that MLflow allows for a metric, a parameter or a tag: letters, digits and "_-. :/", up to 250
// bytes, no path that leads upwards. Every character that is not among them becomes "_".
std::string mlflow_name(std::string_view name);

}  // namespace runner
