#include <torch/cuda.h>

#include <cstdlib>
#include <ostream>

#include "registry/log.hpp"
#include "registry/log_files.hpp"
#include "runner/cli/commands.hpp"
#include "runner/distributed/join.hpp"
#include "runner/engine/process.hpp"
#include "runner/recipe.hpp"
#include "runner/resolve.hpp"
#include "runner/train/train_recipe.hpp"

namespace runner::cli {

namespace {

JoinOptions join_options(const Recipe& recipe) {
  JoinOptions options;
  options.timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(1000 * recipe.distributed.timeout.amount));
  options.check_collectives = recipe.distributed.check_collectives;
  options.cuda = recipe.run.device != "cpu" && torch::cuda::is_available();
  return options;
}

// One of several ranks. What it throws the others learn, before this process ends.
int run_as_rank(const Membership& member, const Value& resolved, Session& session,
                const TrainOptions& options) {
  if (const std::string steered = steer_around_broken_instructions(); !steered.empty()) log::warning(steered);
  const Recipe recipe = decode_table<Recipe>(resolved, session.registry);
  std::unique_ptr<World> world;
  try {
    world = join_world(member, join_options(recipe));
    const int code = train_recipe(resolved, session.registry, *world, options).exit_code();
    world->barrier("the end of the run");
    return code;
  } catch (const std::exception& error) {
    session.err << "runner: error: " << error.what() << "\n" << std::flush;
    if (world) world->failed(error);
    // Threads of the process group may still wait for a rank that does not answer: nobody waits for them.
    std::_Exit(Exit::failed);
  }
}

int run(const Arguments& arguments, Session& session) {
  const std::string recipe = arguments.get("RECIPE");
  Diagnostics found;
  const auto resolved =
      resolve_recipe({recipe, session.environment, arguments.all("OVERRIDE")}, session.registry, found);
  session.err << render(found, session.err_style.colour) << std::flush;
  if (!resolved) return Exit::bad_input;
  for (const Diagnostic& diagnostic : found.all())
    log::write_to_files(render(diagnostic), log::Level::warning);
  const TrainOptions options{
      .recipe_file = recipe,
      .dry_run = arguments.has("dry-run"),
      .force = arguments.has("force"),
      .resume_from = arguments.has("resume") ? std::optional<std::filesystem::path>(arguments.get("resume"))
                                             : std::nullopt};
  if (const auto member = membership(session.environment))
    return run_as_rank(*member, *resolved, session, options);
  World world;
  return train_recipe(*resolved, session.registry, world, options).exit_code();
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
      .options = {{.name = "dry-run", .doc = "Run two steps and one short evaluation, and write no files."},
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
