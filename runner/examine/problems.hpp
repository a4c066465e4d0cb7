#pragma once

#include "runner/examine/data_findings.hpp"

namespace runner {

// Says in words what in the findings will do harm, or is worth knowing.
void find_problems(DataFindings& found);

}  // namespace runner
