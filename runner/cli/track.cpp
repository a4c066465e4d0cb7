#include <algorithm>
#include <chrono>
#include <iterator>
#include <ostream>

#include "registry/base/wording.hpp"
#include "runner/cli/commands.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/runs/run_record.hpp"
#include "runner/runs/tracking/build_trackers.hpp"
#include "runner/runs/tracking/rank_folders.hpp"
#include "runner/runs/tracking/run_facts.hpp"
#include "runner/runs/tracking/send_later.hpp"

namespace runner::cli {

namespace {

// How the run ended, if it left a result.
std::optional<RunEnd> end_of(const std::filesystem::path& folder) {
  const RunRecord run = read_run(folder);
  if (run.status == "running" || run.status == "unknown") return std::nullopt;
  Outcome outcome = Outcome::stopped;
  for (const Outcome each : {Outcome::finished, Outcome::interrupted, Outcome::failed})
    if (run.status == name_of(each)) outcome = each;
  const auto written =
      std::chrono::file_clock::to_sys(std::filesystem::last_write_time(folder / "result.json"));
  return RunEnd{outcome, run.message, std::chrono::duration<double>(written.time_since_epoch()).count()};
}

int run(const Arguments& arguments, Session& session) {
  const std::filesystem::path folder = find_run(arguments.get("RUN"));
  Diagnostics problems;
  const auto resolved = resolve_recipe({.file = folder / "recipe.toml",
                                        .environment = session.environment,
                                        .overrides = arguments.all("OVERRIDE"),
                                        .sends = true},
                                       session.registry, problems);
  session.err << render(problems, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  const Recipe recipe = decode_table<Recipe>(*resolved, session.registry);
  const auto end = end_of(folder);
  const auto send = [&](const std::filesystem::path& path, int rank) {
    return send_later(build_trackers(recipe.tracker, session.registry, {path, {}, rank}),
                      run_facts(recipe.run, path, *resolved), end);
  };
  auto sent = send(folder, 0);
  for (const int rank : ranks_with_trackers(folder))
    std::ranges::move(send(rank_folder(folder, rank), rank), std::back_inserter(sent));
  bool complete = true;
  for (const SentLater& each : sent) {
    session.out << each.tracker << ": "
                << (each.nothing_to_do ? "has everything already"
                    : each.complete    ? "has everything now"
                                       : "not everything could be sent; the rest is kept");
    if (each.refilled > 0)
      session.out << "; " << counted(each.refilled, "point") << " came from metrics.jsonl";
    if (each.missing > 0) session.out << "; it still lacks " << counted(each.missing, "point") << " of it";
    session.out << "\n";
    complete = complete && each.complete;
  }
  return complete ? Exit::done : Exit::failed;
}

}  // namespace

Command track_command() {
  return {
      .name = "track",
      .summary = "Send trackers what they missed during a run.",
      .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                     Word::file},
                    {"OVERRIDE", "Changes to its recipe, as for `runner run`: another server.",
                     Argument::Count::any, Word::override_}},
      .examples = {{"runner track runs/shapes", "the server is back"},
                   {"runner track runs/shapes 'tracker.0.url=\"http://10.0.0.2:5000\"'", "it has moved"}},
      .run = &run,
      .details =
          "What a tracker missed is kept in the folder `tracking` of the run. Points of metrics.jsonl that a "
          "tracker lacks\nfor another reason are taken from there. A run that was killed is reported to its "
          "trackers as failed.\n"
          "Exit code 0: every tracker has everything; 1: something is left; 2: the recipe is wrong."};
}

}  // namespace runner::cli
