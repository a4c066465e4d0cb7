#include <ostream>

#include "runner/cli/commands.hpp"
#include "runner/resolve.hpp"
#include "runner/train/train_recipe.hpp"

namespace runner::cli {

namespace {

int run(const Arguments& arguments, Session& session) {
  const std::string recipe = arguments.get("RECIPE");
  Diagnostics found;
  const auto resolved =
      resolve_recipe({recipe, session.environment, arguments.all("OVERRIDE")}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  World world;
  return train_recipe(*resolved, session.registry, world,
                      {.recipe_file = recipe,
                       .dry_run = arguments.has("dry-run"),
                       .force = arguments.has("force"),
                       .resume_from = arguments.has("resume")
                                          ? std::optional<std::filesystem::path>(arguments.get("resume"))
                                          : std::nullopt})
      .exit_code();
}

}  // namespace

Command run_command() {
  return {
      .name = "run",
      .summary = "Run a recipe; `runner RECIPE ..` does the same.",
      .arguments = {{"RECIPE", "The recipe, a TOML file.", Argument::Count::one, Word::recipe},
                    {"OVERRIDE",
                     "Changes to it: optimizer.lr=0.01, optimizer=adamw, tracker+=csv, ~scheduler.",
                     Argument::Count::any, Word::override_}},
      .options = {{.name = "dry-run", .doc = "Two steps and one evaluation; leaves nothing behind."},
                  {.name = "resume",
                   .doc = "Begin a new run with the state of this checkpoint of another one.",
                   .value = "CHECKPOINT",
                   .word = Word::file},
                  {.name = "force",
                   .doc = "Continue the run in run.dir although the recipe changes its course."}},
      .examples = {{"runner recipes/shapes.toml", "as it is"},
                   {"runner recipes/cifar10.toml train.epochs=1 optimizer.lr=0.05", "with other settings"},
                   {"runner recipes/shapes.toml run.dir=runs/mine",
                    "again: continues it where it was killed"}},
      .run = &run,
      .details =
          "Everything about the recipe is checked before anything is touched.\n"
          "Exit code 0: done; 1: failed; 2: something is wrong with the recipe."};
}

}  // namespace runner::cli
