#include "runner/cli/commands.hpp"
#include "runner/cli/options/compared_runs.hpp"

namespace runner::cli {

namespace {

bool difference(const ComparedSection&, const ComparedRow& row) { return row.differs(); }

int diff(const Arguments& arguments, Session& session) {
  const auto runs = read_runs({arguments.get("RUN"), arguments.get("OTHER")}, /*folders=*/false);
  show_compared(runs, difference, arguments.has("json"), session);
  return Exit::done;
}

}  // namespace

Command diff_command() {
  return {.name = "diff",
          .summary = "Show what differs between two runs: recipe, data, versions, results.",
          .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                         Word::file},
                        {"OTHER", "The other run.", Argument::Count::one, Word::file}},
          .options = {{.name = "json", .doc = "The same as JSON, for programs."}},
          .examples = {{"runner diff runs/shapes/20260131-120000 runs/shapes/20260131-130000",
                        "two runs of one recipe"}},
          .run = &diff};
}

}  // namespace runner::cli
