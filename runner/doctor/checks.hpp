#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "runner/distributed/membership.hpp"
#include "runner/doctor/finding.hpp"

namespace runner {

// Whether a run could keep its files there: written, flushed, renamed, linked, locked. What it makes it
// removes.
Finding check_folder(const std::filesystem::path& folder);

// Whether processes of this machine reach each other, through the store that ranks meet at.
Finding check_loopback();
// Whether ranks could meet at this address: this machine can listen there, or a run's store answers.
Finding check_rendezvous(const Address& address);

// GPUs, whether LibTorch can use them, and NCCL.
std::vector<Finding> check_devices();

// Whether a recipe's plugins load, its parts fit each other and its data can be read.
std::vector<Finding> check_recipe(const std::string& recipe, const std::vector<std::string>& overrides,
                                  const Environment& environment, Registry& registry);

}  // namespace runner
