#pragma once

namespace runner {

// Lives for one forward pass. The precision is active during its lifetime.
struct PrecisionScope {
  virtual ~PrecisionScope() = default;
};

}  // namespace runner
