// The whole program but its process: words in, exit code and texts out.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "runner/cli/cli.hpp"

namespace runner::testing {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

struct Program {
  Registry registry = Registry::of_linked();
  std::map<std::string, std::string> environment = {};
  bool colour = false;

  Outcome run(const std::vector<std::string>& words) const {
    std::ostringstream out, err;
    cli::Session session{registry, environment, out, err, {colour}, {colour}};
    const int code = cli::dispatch(words, session);
    return {code, out.str(), err.str()};
  }
};

}  // namespace runner::testing
