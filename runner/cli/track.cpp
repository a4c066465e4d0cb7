#include <ostream>

#include "runner/cli/commands.hpp"
#include "runner/inference/load_run.hpp"
#include "runner/resolve.hpp"
#include "runner/tracking/build_trackers.hpp"
#include "runner/tracking/run_facts.hpp"
#include "runner/tracking/send_later.hpp"

namespace runner::cli {

namespace {

int run(const Arguments& arguments, Session& session) {
  const std::filesystem::path folder = find_run(arguments.get("RUN"));
  Diagnostics problems;
  const auto resolved = resolve_recipe(
      {folder / "recipe.toml", session.environment, arguments.all("OVERRIDE")}, session.registry, problems);
  session.err << render(problems, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  const Recipe recipe = decode_table<Recipe>(*resolved, session.registry);
  const auto sent = send_later(build_trackers(recipe.tracker, session.registry, {folder}),
                               run_facts(recipe.run, folder, *resolved));
  bool complete = true;
  for (const SentLater& each : sent) {
    session.out << each.tracker << ": "
                << (each.nothing_to_do ? "has everything already"
                    : each.complete    ? "has everything now"
                                       : "did not take everything; the rest is kept")
                << "\n";
    complete = complete && each.complete;
  }
  return complete ? Exit::done : Exit::failed;
}

}  // namespace

Command track_command() {
  return {.name = "track",
          .summary = "Send to trackers what they could not be sent while the run went on.",
          .arguments = {{"RUN", "A run folder, or the name of a run (the last one of it).",
                         Argument::Count::one, Word::file},
                        {"OVERRIDE", "Changes to its recipe, as for `runner run`: another server.",
                         Argument::Count::any, Word::override_}},
          .examples = {{"runner track runs/shapes", "the server is back"},
                       {"runner track runs/shapes 'tracker.0.url=\"http://10.0.0.2:5000\"'", "it has moved"}},
          .run = &run,
          .details =
              "A run keeps what a tracker did not take in the folder `tracking` of its own folder. Trackers "
              "that\n"
              "never heard of the end of a run that was killed are told that it failed.\n"
              "Exit code 0: every tracker has everything; 1: something is left; 2: the recipe is wrong."};
}

}  // namespace runner::cli
