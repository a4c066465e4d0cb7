#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "registry/value.hpp"
#include "runner/cli/command.hpp"
#include "runner/sweep/sweep.hpp"

namespace runner::cli {

// What the command line asks for, before the recipe is read.
struct SweepRequest {
  SweepPlan plan;
  std::vector<std::string> over;  // what to search
};

// Throws std::invalid_argument.
SweepRequest sweep_request(const Arguments& arguments);

// A sweep that is ready to run, and what distinguishes it from other sweeps.
struct Sweep {
  SweepPlan plan;
  std::unique_ptr<Sampler> sampler;
  nlohmann::ordered_json identity;
};

// The options win over [sweep] of the recipe. Throws std::invalid_argument, BadNumber or BadLaunch.
Sweep sweep_of(SweepRequest request, const Value& resolved_recipe, const Arguments& arguments,
               const Registry& registry);

// How the sweep in a folder, whose identity is in this file, differs from this one; empty if it does not, or
// if there is none.
std::string difference(const std::filesystem::path& file, const nlohmann::ordered_json& wanted);

}  // namespace runner::cli
