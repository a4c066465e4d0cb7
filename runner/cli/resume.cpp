#include <algorithm>
#include <ostream>

#include "runner/checkpoint/recipe_changes.hpp"
#include "runner/checkpoint/resume.hpp"
#include "runner/cli/commands.hpp"
#include "runner/inference/load_run.hpp"
#include "runner/resolve.hpp"
#include "runner/train/train_recipe.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;

// What continuing would mean, without doing it.
int show_changes(const std::vector<RecipeChange>& changes, const fs::path& folder, bool force,
                 Session& session) {
  const auto any = [&](OnResume effect) {
    return std::ranges::any_of(changes, [&](const RecipeChange& change) { return change.effect == effect; });
  };
  const auto found = newest_checkpoint(CheckpointStore(folder));
  session.out << folder.string() << ": "
              << (found ? "continues at step " + std::to_string(found->checkpoint.step) + " from " +
                              found->folder.filename().string()
                        : std::string("has no complete checkpoint, and begins again"))
              << "\n";
  if (changes.empty()) session.out << "the recipe is the same\n";
  session.out << changes_table(changes);
  if (any(OnResume::fixed)) return Exit::bad_input;
  if (any(OnResume::course) && !force) {
    session.out << "needs --force\n";
    return Exit::bad_input;
  }
  return Exit::done;
}

int run(const Arguments& arguments, Session& session) {
  const fs::path folder = fs::canonical(find_run(arguments.get("RUN")));
  std::vector<std::string> overrides = arguments.all("OVERRIDE");
  overrides.push_back("run.dir=" + folder.string());
  Diagnostics found;
  const auto resolved =
      resolve_recipe({folder / "recipe.toml", session.environment, overrides}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  const bool force = arguments.has("force");
  if (arguments.has("check"))
    return show_changes(changes_since(folder / "recipe.toml", *resolved, session.registry), folder, force,
                        session);
  World world;
  return train_recipe(*resolved, session.registry, world,
                      {.recipe_file = (folder / "recipe.toml").string(), .force = force})
      .exit_code();
}

}  // namespace

Command resume_command() {
  return {
      .name = "resume",
      .summary = "Continue a run from its newest checkpoint.",
      .arguments = {{"RUN", "A run folder, or the name of a run (the last one of it).", Argument::Count::one,
                     Word::file},
                    {"OVERRIDE", "Changes to its recipe, as for `runner run`.", Argument::Count::any,
                     Word::override_}},
      .options = {{.name = "check",
                   .doc = "Show what would change, and whether it can be continued; run nothing."},
                  {.name = "force", .doc = "Continue although the recipe changes the course of the run."}},
      .examples = {{"runner resume shapes", "the last run of that name, exactly as it would have gone on"},
                   {"runner resume runs/shapes/latest train.epochs=10", "for longer"},
                   {"runner resume shapes optimizer.lr=0.01 --force",
                    "with another learning rate from here on"},
                   {"runner resume --check shapes optimizer.lr=0.01", "what that would mean"}},
      .run = &run,
      .details =
          "A run that was killed, interrupted or has failed goes on as if nothing had happened: the same "
          "weights, to\n"
          "the last bit. A finished one goes on where it is given more steps or epochs."};
}

}  // namespace runner::cli
