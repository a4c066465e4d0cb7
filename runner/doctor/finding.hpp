#pragma once

#include <string>

namespace runner {

// What one check of this machine found.
struct Finding {
  enum class State { ok, note, problem };  // note: works, but somebody may want to know

  std::string what;  // "precision bf16"
  State state = State::ok;
  std::string detail = {};  // what was seen
  std::string remedy = {};  // what to do about a problem
};

}  // namespace runner
