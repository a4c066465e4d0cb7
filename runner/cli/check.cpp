#include <nlohmann/json.hpp>
#include <ostream>

#include "components/contract/data_error.hpp"
#include "registry/recipe_error.hpp"
#include "runner/check/deep_check.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/recipe_files.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/process/failure.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/resolve/sent.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

std::string verdict(const Diagnostics& found, const Style& style) {
  const std::string warnings = found.warnings() == 0 ? "" : counted(found.warnings(), "warning");
  if (found.ok()) return style.green("ok") + (warnings.empty() ? "" : ", " + warnings);
  return style.red(counted(found.errors(), "error")) + (warnings.empty() ? "" : ", " + warnings);
}

// Reports a misfit like any other error in the recipe.
void check_deeply(const Value& resolved, const Registry& registry, Diagnostics& found) {
  try {
    runner::check_deeply(resolved, registry);
  } catch (const RecipeError& error) {
    found.error(error.origin.is_default() ? resolved.origin : error.origin, failure_text(error));
  } catch (const DataError& error) {
    found.error(resolved.as<Table>()->find("dataset")->origin, failure_text(error));
  } catch (const std::exception& error) {
    found.error(resolved.origin, failure_text(error));
  }
}

int check(const Arguments& arguments, Session& session) {
  const auto [recipes, overrides] = sort_words(arguments.all("RECIPE"));
  if (recipes.empty()) {
    return refuse({"no recipe is named, only overrides", {"runner check RECIPE " + joined(overrides, " ")}},
                  session);
  }
  const bool as_json = arguments.has("json");
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  bool all_ok = true;
  for (const std::string& recipe : recipes) {
    Diagnostics found;
    const auto resolved = resolve_recipe(
        {.file = recipe, .environment = session.environment, .overrides = overrides, .sends = true},
        session.registry, found);
    if (resolved && arguments.has("deep")) check_deeply(*resolved, session.registry, found);
    all_ok = all_ok && found.ok();
    const std::vector<std::string> sent =
        resolved ? what_is_sent(*resolved, Trusted(session.environment), session.registry)
                 : std::vector<std::string>();
    if (as_json) {
      report.push_back(
          {{"recipe", recipe}, {"ok", found.ok()}, {"diagnostics", to_json(found)}, {"sends", sent}});
      continue;
    }
    session.err << render(found, session.err_style.colour);
    session.err.flush();
    (found.ok() ? session.out : session.err)
        << recipe << ": " << verdict(found, found.ok() ? session.out_style : session.err_style) << "\n";
    for (const std::string& line : sent) session.out << "  " << line << "\n";
  }
  if (as_json) session.out << dumped({{"ok", all_ok}, {"recipes", report}});
  return all_ok ? Exit::done : Exit::bad_input;
}

}  // namespace

Command check_command() {
  return {
      .name = "check",
      .summary = "Report every mistake in recipes, without running them.",
      .arguments = {{"RECIPE", "Recipes, and overrides that apply to each of them.",
                     Argument::Count::at_least_one, Word::recipes_and_overrides}},
      .options = {{.name = "deep", .doc = "Also pass two examples through model, loss, metrics and hooks."},
                  {.name = "json", .doc = "The findings as JSON, for programs."}},
      .examples = {{"runner check recipes/*.toml", "all of them at once"},
                   {"runner check recipes/cifar10.toml optimizer.lr=0.5", "with an override"}},
      .run = &check,
      .details =
          "Reads no data and uses no device; --deep opens the data if it is on this machine, and downloads "
          "nothing. Says\nwhich tracker sends which secret where.\nExit code 0: all recipes are valid; 2: "
          "one has mistakes."};
}

}  // namespace runner::cli
