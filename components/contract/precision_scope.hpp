#pragma once

namespace runner {

// Lives for one forward pass: what a precision switches on is on while it does.
struct PrecisionScope {
  virtual ~PrecisionScope() = default;
};

}  // namespace runner
