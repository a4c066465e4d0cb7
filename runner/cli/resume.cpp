#include <algorithm>
#include <ostream>

#include "runner/checkpoint/environment_changes.hpp"
#include "runner/checkpoint/recipe_changes.hpp"
#include "runner/checkpoint/resume.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/problem.hpp"
#include "runner/inference/load_run.hpp"
#include "runner/resolve.hpp"
#include "runner/run_folder/run_result.hpp"
#include "runner/train/train_recipe.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;

// How many ranks wrote the newest checkpoint that can be read; one without a checkpoint.
std::int64_t ranks_of(const fs::path& folder) {
  for (const fs::path& checkpoint : CheckpointStore(folder).all()) {
    try {
      return read_summary(checkpoint).ranks;
    } catch (const std::exception&) {
      // Resuming names it and takes the one before, too.
    }
  }
  return 1;
}

// One process would train on other batches than the run did so far.
int refuse_alone(std::int64_t ranks, const fs::path& folder, const Arguments& arguments, Session& session) {
  std::string command = "runner launch -n " + std::to_string(ranks) + " " +
                        (folder / "recipe.toml").string() + " run.dir=" + folder.string();
  for (const std::string& change : arguments.all("OVERRIDE")) command += " " + change;
  return refuse(
      {"the run used " + std::to_string(ranks) + " ranks, but `runner resume` starts only one process",
       {"resume it with as many: " + command}},
      session);
}

// What resuming would mean, without doing it.
int show_changes(const fs::path& folder, const Value& resolved, bool force, Session& session) {
  const auto found = newest_checkpoint(CheckpointStore(folder));
  const auto changes =
      changes_since((found ? found->folder : folder) / "recipe.toml", resolved, session.registry);
  const auto any = [&](OnResume effect) {
    return std::ranges::any_of(changes, [&](const RecipeChange& change) { return change.effect == effect; });
  };
  session.out << folder.string() << ": "
              << (found ? "resumes at step " + std::to_string(found->checkpoint.step) + " from " +
                              found->folder.filename().string()
                        : std::string("has no complete checkpoint to resume from"))
              << "\n";
  session.out << (changes.empty() ? "the recipe is the same\n" : changes_table(changes));
  if (found) {
    CheckpointSummary written = read_summary(found->folder);
    written.versions.erase("threads");  // are known once the run has started
    for (const std::string& change : environment_changes(written, versions(), 1))
      session.out << change << "\n";
  }
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
  if (arguments.has("check")) return show_changes(folder, *resolved, force, session);
  const std::int64_t ranks = ranks_of(folder);
  if (ranks > 1 && !force) return refuse_alone(ranks, folder, arguments, session);
  World world;
  set_up_process(*resolved, session.registry, world);
  return train_recipe(*resolved, session.registry, world,
                      {.recipe_file = (folder / "recipe.toml").string(), .force = force})
      .exit_code();
}

}  // namespace

Command resume_command() {
  return {.name = "resume",
          .summary = "Continue a run from its newest checkpoint.",
          .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                         Word::file},
                        {"OVERRIDE", "Changes to its recipe, as for `runner run`.", Argument::Count::any,
                         Word::override_}},
          .options = {{.name = "check",
                       .doc = "Show what would change, and whether it can be continued; run nothing."},
                      {.name = "force",
                       .doc = "Continue even if changed settings alter the results of the run."}},
          .examples = {{"runner resume shapes", "the last run of that name"},
                       {"runner resume runs/shapes/latest train.epochs=10", "for longer"},
                       {"runner resume shapes optimizer.lr=0.01 --force",
                        "with another learning rate from here on"},
                       {"runner resume --check shapes optimizer.lr=0.01", "what that would mean"}},
          .run = &run,
          .details =
              "A run that was killed, interrupted or has failed continues as if nothing had happened and "
              "ends with the same\nweights, bit for bit. A finished run continues if it is given more steps "
              "or epochs. A run of several ranks\nis resumed by `runner launch` with its recipe and "
              "run.dir; by one process only with --force."};
}

}  // namespace runner::cli
