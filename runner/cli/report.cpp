#include <ostream>

#include "registry/files/atomic_file.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/run_folders.hpp"
#include "runner/runs/report/page.hpp"
#include "runner/runs/report/run_report.hpp"

namespace runner::cli {

namespace {

int run(const Arguments& arguments, Session& session) {
  namespace fs = std::filesystem;
  const auto runs = run_folders(arguments.all("RUN"), /*folders=*/true);
  const fs::path alone = runs.size() == 1 ? runs.front() / "report.html" : fs::path("report.html");
  const fs::path file = arguments.has("output") ? fs::path(arguments.get("output")) : alone;
  require_no_other_content(file);
  write_atomically(file, run_report(runs));
  session.out << file.string() << "\n";
  return Exit::done;
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "Write curves, results and settings of runs as one HTML page.",
          .arguments = {{"RUN",
                         "A run folder, the name of a run (its last one), or a folder of runs (all of them).",
                         Argument::Count::at_least_one, Word::file}},
          .options = {{.name = "output",
                       .doc = "Output file; default: report.html in the run folder, for several runs in the "
                              "current folder.",
                       .value = "FILE",
                       .letter = 'o',
                       .word = Word::file}},
          .examples = {{"runner report runs/shapes/20260131-120000", "one run"},
                       {"runner report runs/shapes -o shapes.html", "all runs of that name, overlaid"}},
          .run = &run,
          .details =
              "The page needs nothing but a browser: no network, no other file.\n"
              "Every run writes such a page at its end."};
}

}  // namespace runner::cli
