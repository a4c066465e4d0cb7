#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace runner {

// The name of what a run has saved at a step: "step-00000100".
std::string step_name(std::int64_t step);

// The step of such a name; nullopt: it is another name, such as that of a copy, "step-00000100-good".
std::optional<std::int64_t> step_of_name(std::string_view name);

}  // namespace runner
