#include "runner/inspect/build_hooks.hpp"

#include "runner/recipe/measurements.hpp"

namespace runner {

std::vector<std::unique_ptr<Hook>> build_hooks(const Recipe& recipe, const Inspection& inspection,
                                               const Precision& precision, HookInputs inputs) {
  inputs.parameters = inspection.parameters;
  inputs.flops_per_example =
      3 * inspection.forward_flops_per_example;  // backward does the work twice: inputs, weights
  inputs.measured = measurements_of(recipe);
  inputs.compute_type = precision.compute_type();
  inputs.precision_skips = precision.skips_updates();
  std::vector<std::unique_ptr<Hook>> hooks;
  for (const auto& part : recipe.hook) hooks.push_back(part.build(inputs));
  return hooks;
}

}  // namespace runner
