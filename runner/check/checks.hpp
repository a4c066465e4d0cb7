#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "runner/ranks/membership.hpp"

namespace runner {

// What one check of this machine found.
struct Finding {
  enum class Verdict { ok, note, problem };  // note: it works, but there is something to know

  std::string what;  // "precision bf16"
  Verdict verdict = Verdict::ok;
  std::string detail = {};
  std::string remedy = {};  // for a problem
};

// Whether a run can keep its files there: write, flush, rename, link and lock them. Removes what it creates.
Finding check_folder(const std::filesystem::path& folder);

// Whether processes on this machine reach each other through the store where ranks meet.
Finding check_loopback();
// Whether ranks can meet at this address: this machine can listen there, or the store of a run answers.
Finding check_rendezvous(const Address& address);

// GPUs, whether LibTorch can use them, and NCCL.
std::vector<Finding> check_devices();

// Whether a recipe's plugins load, its components fit together and its data can be read.
std::vector<Finding> check_recipe(const std::string& recipe, const std::vector<std::string>& overrides,
                                  const Environment& environment, Registry& registry);

}  // namespace runner
