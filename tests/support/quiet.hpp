#pragma once

#include "registry/base/log.hpp"

namespace runner::testing {

// Nothing is printed, and log::warnings() are those of this test alone.
struct Quiet {
  Quiet() { log::clear_warnings(); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  ~Quiet() { log::clear_warnings(); }

  log::Silence silence;
};

}  // namespace runner::testing
