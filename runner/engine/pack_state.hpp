#pragma once

#include <string>

#include "components/contract/state.hpp"

namespace runner {

// A state as bytes, for another rank. unpack throws where they are no state.
std::string pack(const State& state);
State unpack(const std::string& bytes);

}  // namespace runner
