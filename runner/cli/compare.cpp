#include "runner/cli/commands.hpp"
#include "runner/cli/options/compared_runs.hpp"

namespace runner::cli {

namespace {

bool result_or_difference(const ComparedSection& section, const ComparedRow& row) {
  return section.title == "results" || row.differs();
}
bool anything(const ComparedSection&, const ComparedRow&) { return true; }

int compare(const Arguments& arguments, Session& session) {
  const auto runs = read_runs(arguments.all("RUN"), /*folders=*/true);
  show_compared(runs, arguments.has("all") ? anything : result_or_difference, arguments.has("json"), session);
  return Exit::done;
}

}  // namespace

Command compare_command() {
  return {
      .name = "compare",
      .summary = "Show the results of several runs side by side, and the settings that differ.",
      .arguments = {{"RUN",
                     "Run folders, names of runs (the last one of each), or folders of runs (all of them).",
                     Argument::Count::at_least_one, Word::file}},
      .options = {{.name = "all", .doc = "Show settings that are equal, too."},
                  {.name = "json", .doc = "The same as JSON, for programs."}},
      .examples = {{"runner compare runs/sgd runs/adamw", "two runs"},
                   {"runner compare runs/shapes", "all runs of that name"}},
      .run = &compare};
}

}  // namespace runner::cli
