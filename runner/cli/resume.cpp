#include <algorithm>
#include <ostream>

#include "registry/base/wording.hpp"
#include "runner/checkpoint/environment_changes.hpp"
#include "runner/checkpoint/resume.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/problem.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/recipe/plan.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/resolve/recipe_changes.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/runs/run_result.hpp"
#include "runner/toml/reference.hpp"
#include "runner/train/run_start.hpp"
#include "runner/train/train_recipe.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;

// How many ranks wrote the newest checkpoint that can be read; 1 if there is none.
std::int64_t ranks_of(const fs::path& folder) {
  for (const fs::path& checkpoint : CheckpointStore(folder).all()) {
    try {
      return read_summary(checkpoint).ranks;
    } catch (const std::exception&) {
      // Resuming reports it and uses the one before, too.
    }
  }
  return 1;
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=+,:@%-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char each : word) quoted += each == '\'' ? "'\\''" : std::string(1, each);
  return quoted + "'";
}

std::string command_for(std::int64_t ranks, const fs::path& folder, const Arguments& arguments) {
  std::string command = "runner launch -n " + std::to_string(ranks) + " " +
                        shell_quoted((folder / "recipe.toml").string()) + " " +
                        shell_quoted("run.dir=" + escape_references(folder.string()));
  for (const std::string& change : arguments.all("OVERRIDE")) command += " " + shell_quoted(change);
  return command;
}

// One process would train on different batches than the run has so far.
int refuse_alone(std::int64_t ranks, const fs::path& folder, const Arguments& arguments, Session& session) {
  return refuse(
      {"the run used " + std::to_string(ranks) + " ranks, but `runner resume` starts only one process",
       {"resume it with as many: " + command_for(ranks, folder, arguments)}},
      session);
}

// Why the run cannot be continued, whatever has changed; "" if it can.
std::string obstacle(const fs::path& folder, const Value& resolved, bool has_checkpoint,
                     const Registry& registry) {
  if (decode_table<Recipe>(resolved, registry).checkpoint.resume == Resume::never)
    return "checkpoint.resume is \"never\", so no run is continued; add checkpoint.resume=auto";
  return has_checkpoint ? "" : why_not_started_over(folder);
}

// Shows what resuming would do, without doing it.
int show_changes(const fs::path& folder, const Value& resolved, const Arguments& arguments,
                 Session& session) {
  const auto found = newest_checkpoint(CheckpointStore(folder));
  if (const std::string why = obstacle(folder, resolved, found.has_value(), session.registry); !why.empty())
    return refuse({why}, session);
  const auto changes =
      changes_since((found ? found->folder : folder) / "recipe.toml", resolved, session.registry);
  const auto any = [&](OnResume effect) {
    return std::ranges::any_of(changes, [&](const RecipeChange& change) { return change.effect == effect; });
  };
  const auto noted = noted_start(folder);
  const bool force = arguments.has("force");
  session.out << shown_message(folder.string()) << ": "
              << (found ? "resumes at step " + std::to_string(found->checkpoint.step) + " from " +
                              escaped_name(found->folder.filename().string())
                  : noted ? "has no checkpoint yet: starts again from " + shown_message(noted->string())
                          : std::string("has no checkpoint yet: starts over"))
              << "\n";
  session.out << (changes.empty() ? "the recipe is the same\n" : changes_table(changes));
  if (found) {
    CheckpointSummary written = read_summary(found->folder);
    written.versions.erase("threads");                     // known only once the run has started
    const std::int64_t ranks = force ? 1 : written.ranks;  // otherwise it is resumed with as many
    for (const std::string& change : environment_changes(
             written, versions(), ranks, examples_of_rank(decode_table<Recipe>(resolved, session.registry))))
      session.out << shown_message(change) << "\n";
    if (written.ranks > 1 && !force)
      session.out << "resumed with: " << shown_message(command_for(written.ranks, folder, arguments)) << "\n";
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
  const auto sets_folder = [](const std::string& change) { return change.starts_with("run.dir="); };
  if (std::ranges::any_of(overrides, sets_folder))
    return refuse({"a run is continued in its own folder: run.dir cannot be changed",
                   {"a new run from its checkpoint: runner " + (folder / "recipe.toml").string() +
                    " --resume " + (folder / "checkpoints/latest").string() + " run.dir=.."}},
                  session);
  overrides.push_back("run.dir=" + escape_references(folder.string()));
  Diagnostics found;
  const auto resolved = resolve_recipe({.file = folder / "recipe.toml",
                                        .environment = session.environment,
                                        .overrides = overrides,
                                        .sends = !arguments.has("check")},
                                       session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  if (arguments.has("check")) return show_changes(folder, *resolved, arguments, session);
  const bool force = arguments.has("force");
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
  return {
      .name = "resume",
      .summary = "Continue a run from its newest checkpoint.",
      .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                     Word::file},
                    {"OVERRIDE", "Changes to its recipe, as for `runner run`.", Argument::Count::any,
                     Word::override_}},
      .options = {{.name = "check",
                   .doc = "Show what would change and whether the run can be continued, without running it."},
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
