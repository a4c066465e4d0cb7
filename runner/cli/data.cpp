#include <nlohmann/json.hpp>
#include <ostream>

#include "components/support/io/atomic_file.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/examine/data_findings.hpp"
#include "runner/report/page.hpp"
#include "runner/resolve.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/grid.hpp"
#include "runner/terminal/text.hpp"
#include "runner/version.hpp"

namespace runner::cli {

namespace {

constexpr std::size_t widest = 110, most_rows = 40;

void print_list(const std::vector<std::string>& texts, std::ostream& out) {
  for (const std::string& text : texts) out << "  " << wrapped(text, widest, "    ") << "\n";
}

void print_parts(const DataFindings& found, Session& session) {
  std::vector<std::vector<std::string>> rows;
  for (const PartFindings& part : found.parts) {
    rows.push_back({part.name, grouped(part.examples), grouped(std::ssize(part.examined) + part.broken_count),
                    grouped(part.broken_count), part.mean ? measured(*part.mean) : "",
                    part.deviation ? measured(*part.deviation) : ""});
  }
  session.out << "\n"
              << grid({{"part"},
                       {"examples", true},
                       {"examined", true},
                       {"broken", true},
                       {"mean", true},
                       {"deviation", true}},
                      rows, session.out_style);
}

void print_classes(const DataFindings& found, Session& session) {
  const PartFindings& train = found.parts.front();
  if (train.class_counts.empty() || train.class_counts.size() > most_rows) return;
  std::vector<GridColumn> columns{{"class"}};
  for (const PartFindings& part : found.parts) columns.push_back({part.name, true});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < train.class_counts.size(); ++i) {
    const auto& names = train.spec.class_names;
    rows.push_back({i < names.size() ? names[i] : std::to_string(i)});
    for (const PartFindings& part : found.parts)
      rows.back().push_back(i < part.class_counts.size() ? grouped(part.class_counts[i]) : "");
  }
  session.out << "\n" << grid(columns, rows, session.out_style);
}

void print_columns(const DataFindings& found, Session& session) {
  const auto& columns = found.parts.front().columns;
  if (columns.empty() || columns.size() > most_rows) return;
  std::vector<std::vector<std::string>> rows;
  for (const ColumnFindings& column : columns) {
    const bool numbers = column.distinct > 0;
    rows.push_back({column.name, numbers ? measured(column.mean) : "",
                    numbers ? measured(column.deviation) : "", numbers ? measured(column.least) : "",
                    numbers ? measured(column.most) : "",
                    column.gaps > 0 ? measured(100 * column.gaps) + " %" : ""});
  }
  session.out << "\n"
              << grid({{"column"},
                       {"mean", true},
                       {"deviation", true},
                       {"least", true},
                       {"most", true},
                       {"gaps", true}},
                      rows, session.out_style);
}

void print(const DataFindings& found, Session& session) {
  const Style& style = session.out_style;
  if (found.problems.empty()) {
    session.out << style.green("no problem found") << "\n";
  } else {
    session.out << style.bold(style.red(counted(found.problems.size(), "problem"))) << "\n";
    print_list(found.problems, session.out);
  }
  if (!found.notes.empty()) {
    session.out << style.dim("worth knowing") << "\n";
    print_list(found.notes, session.out);
  }
  print_parts(found, session);
  print_classes(found, session);
  print_columns(found, session);
}

void write_page(const std::string& file, const std::string& recipe, nlohmann::ordered_json data) {
  data["recipe"] = recipe;
  data["version"] = version_text;
  AtomicFile out(file);
  out.write(html_page("Data of " + data["title"].get<std::string>(), "data", data));
  out.commit();
}

int run(const Arguments& arguments, Session& session) {
  std::int64_t most = 100'000;
  try {
    most = whole_option(arguments, "examples", 1).value_or(most);
  } catch (const BadNumber& problem) {
    return refuse({problem.message, {}, "runner data --help"}, session);
  }
  Diagnostics problems;
  const std::string recipe = arguments.get("RECIPE");
  const auto resolved =
      resolve_recipe({recipe, session.environment, arguments.all("OVERRIDE")}, session.registry, problems);
  session.err << render(problems, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  const DataFindings found = examine_data(decode_table<Recipe>(*resolved, session.registry), most);
  if (arguments.has("output")) write_page(arguments.get("output"), recipe, to_json(found));
  if (arguments.has("json")) {
    session.out << dumped(to_json(found));
  } else {
    print(found, session);
    if (arguments.has("output")) session.out << "\n" << arguments.get("output") << "\n";
  }
  return arguments.has("strict") && !found.problems.empty() ? Exit::failed : Exit::done;
}

}  // namespace

Command data_command() {
  return {
      .name = "data",
      .summary = "Look at what the model will see before training: problems, classes, columns, samples.",
      .arguments = {{"RECIPE", "The recipe, a TOML file.", Argument::Count::one, Word::recipe},
                    {"OVERRIDE", "Changes to it, as for a run.", Argument::Count::any, Word::override_}},
      .options =
          {{.name = "output",
            .doc = "Also as an HTML page, with samples after the transforms.",
            .value = "FILE",
            .letter = 'o',
            .word = Word::file},
           {.name = "examples",
            .doc = "Examine so many examples of each part at most, spread evenly; 100000 where not given.",
            .value = "N"},
           {.name = "strict", .doc = "Exit code 1 where there is a problem."},
           {.name = "json", .doc = "The same, for programs."}},
      .examples = {{"runner data recipes/cifar10.toml -o data.html", "with a page to look at"},
                   {"runner data recipes/adult_tabular.toml --strict", "in a script, before training"}},
      .run = &run,
      .details =
          "Examples count as equal where the model would get the same numbers for them.\n"
          "Exit code 0: done; 1: failed, or problems with --strict; 2: something is wrong with the recipe."};
}

}  // namespace runner::cli
