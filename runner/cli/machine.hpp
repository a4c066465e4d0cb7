#pragma once

#include <map>
#include <string>
#include <vector>

namespace runner::cli {

struct Fact {
  std::string key;
  std::string value;
};

// What a bug report needs to know of this machine. Opens no device: what is said of GPUs the kernel's files
// say.
std::vector<Fact> machine_facts(const std::map<std::string, std::string>& environment);

}  // namespace runner::cli
