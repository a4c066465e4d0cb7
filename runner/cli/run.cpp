#include <ostream>

#include "registry/base/log.hpp"
#include "registry/recipe_error.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/launch_options.hpp"
#include "runner/ranks/run_rank.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/train/run_start.hpp"
#include "runner/train/train_recipe.hpp"

namespace runner::cli {

namespace {

// The place of an option's value on the command line, for messages.
Origin place_of(const std::string& option, const std::string& value) {
  const auto source =
      std::make_shared<const Source>(Source{Source::Kind::argument, option, option + " " + value});
  return {source, 1, static_cast<std::uint32_t>(option.size() + 2), static_cast<std::uint32_t>(value.size())};
}

int train(const Value& resolved, const Registry& registry, World& world, const TrainOptions& options) {
  set_up_process(resolved, registry, world);
  try {
    return train_recipe(resolved, registry, world, options).exit_code();
  } catch (const UnusableCheckpoint& error) {
    if (!options.resume_from) throw;
    throw RecipeError(place_of("--resume", options.resume_from->string()), error.what());
  }
}

int run(const Arguments& arguments, Session& session) {
  const std::string recipe = arguments.get("RECIPE");
  Diagnostics found;
  const auto resolved = resolve_recipe({.file = recipe,
                                        .environment = session.environment,
                                        .overrides = arguments.all("OVERRIDE"),
                                        .sends = true},
                                       session.registry, found);
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
  if (const auto member = membership(session.environment)) {
    const Recipe decoded = decode_table<Recipe>(*resolved, session.registry);
    Diagnostics misfits;  // found before the ranks meet: every one of them finds the same
    if (!fits_ranks(*resolved, decoded, member->place.size, misfits)) {
      session.err << render(misfits, session.err_style.colour);
      return Exit::bad_input;
    }
    return run_rank(
        *member, join_options(decoded.distributed, decoded.run.device, member->place),
        [&](World& world) { return train(*resolved, session.registry, world, options); }, session.err);
  }
  World world;
  return train(*resolved, session.registry, world, options);
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
                   .doc = "Start a new run from this checkpoint of another run.",
                   .value = "CHECKPOINT",
                   .word = Word::file},
                  {.name = "force",
                   .doc = "Continue the run in run.dir even if changed settings alter its results."}},
      .examples = {{"runner recipes/shapes.toml", "as it is"},
                   {"runner recipes/cifar10.toml train.epochs=1 optimizer.lr=0.05", "with other settings"},
                   {"runner recipes/shapes.toml run.dir=runs/mine",
                    "in this folder; the same command again continues the run"}},
      .run = &run,
      .details =
          "The whole recipe is checked before anything is written.\n"
          "Exit code 0: done; 1: failed; 2: a mistake in the recipe or on the command line; "
          "128 + n: stopped by\nsignal n, after saving."};
}

}  // namespace runner::cli
