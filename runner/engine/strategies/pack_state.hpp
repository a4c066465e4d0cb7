#pragma once

#include <string>

#include "components/contract/state.hpp"

namespace runner {

// A state as bytes, to send it to another rank. unpack throws if the bytes are not a state.
std::string pack(const State& state);
State unpack(const std::string& bytes);

}  // namespace runner
