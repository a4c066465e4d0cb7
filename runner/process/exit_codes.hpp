#pragma once

namespace runner {

// What the program, and each rank of a run, returns to whoever started it.
struct Exit {
  static constexpr int done = 0;
  static constexpr int failed = 1;
  // A mistake on the command line or in the recipe: it would be found again.
  static constexpr int bad_input = 2;
};

}  // namespace runner
