#pragma once

#include <unistd.h>

#include <string>

namespace runner {

// The name of this machine; empty if it has none.
inline std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace runner
