#include "registry/base/log.hpp"
#include "registry/diagnostics.hpp"
#include "runner/check/checks.hpp"
#include "runner/check/deep_check.hpp"
#include "runner/process/failure.hpp"
#include "runner/recipe/parts.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/terminal/text.hpp"

namespace runner {

namespace {

Finding check_plugins(const Registry& registry) {
  std::vector<std::string> names;
  for (const Library* library : registry.libraries())
    names.push_back(std::filesystem::path(library->path).filename().string());
  return {"plugins", Finding::Verdict::ok, names.empty() ? "none" : joined(names) + " loaded"};
}

}  // namespace

std::vector<Finding> check_recipe(const std::string& recipe, const std::vector<std::string>& overrides,
                                  const Environment& environment, Registry& registry) {
  Diagnostics found;
  const auto resolved = resolve_recipe({recipe, environment, overrides}, registry, found);
  if (!resolved)
    return {{"recipe", Finding::Verdict::problem, log::format("{}: {}", recipe, found.first_error()),
             "runner check " + recipe + " lists all mistakes and where they are"}};
  std::vector<Finding> findings{{"recipe", Finding::Verdict::ok, recipe + " is valid"},
                                check_plugins(registry)};
  Finding data{"data", Finding::Verdict::ok, "examples can be read, and fit model, loss and metrics"};
  try {
    check_deeply(*resolved, registry);
    if (!build_dataset(decode_table<Recipe>(*resolved, registry))->at_hand())
      data = {"data", Finding::Verdict::note, "not downloaded yet", "the first run downloads it"};
  } catch (const std::exception& error) {
    data = {"data", Finding::Verdict::problem, failure_text(error),
            "runner data " + recipe + " examines all of it"};
  }
  findings.push_back(std::move(data));
  return findings;
}

}  // namespace runner
