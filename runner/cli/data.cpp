#include <nlohmann/json.hpp>
#include <ostream>

#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"
#include "runner/check/data_findings.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/process/version.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/runs/report/page.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/grid.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

constexpr std::size_t widest = 110, most_rows = 40;

void print_list(const std::vector<std::string>& texts, std::ostream& out) {
  for (const std::string& text : texts) out << "  " << wrapped(text, widest, "    ") << "\n";
}

void print_sets(const DataFindings& found, Session& session) {
  std::vector<std::vector<std::string>> rows;
  for (const SetFindings& set : found.sets) {
    rows.push_back({set.name, grouped(set.examples), grouped(std::ssize(set.examined) + set.broken_count),
                    grouped(set.broken_count), set.mean ? measured(*set.mean) : "",
                    set.deviation ? measured(*set.deviation) : ""});
  }
  session.out << "\n"
              << grid({{"set"},
                       {"examples", true},
                       {"examined", true},
                       {"broken", true},
                       {"mean", true},
                       {"std", true}},
                      rows, session.out_style);
}

void print_classes(const DataFindings& found, Session& session) {
  const SetFindings& train = found.sets.front();
  if (train.class_counts.empty() || train.class_counts.size() > most_rows) return;
  std::vector<GridColumn> columns{{"class"}};
  for (const SetFindings& set : found.sets) columns.push_back({set.name, true});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < train.class_counts.size(); ++i) {
    rows.push_back({escaped_name(train.spec.class_name(static_cast<std::int64_t>(i)))});
    for (const SetFindings& set : found.sets)
      rows.back().push_back(i < set.class_counts.size() ? grouped(set.class_counts[i]) : "");
  }
  session.out << "\n" << grid(columns, rows, session.out_style);
}

std::string most_frequent(const ColumnFindings& column) {
  constexpr std::size_t most = 4;
  std::vector<std::string> shown;
  for (const auto& [value, count] : column.values) {
    if (shown.size() < most) shown.push_back(escaped_name(value) + " " + grouped(count));
  }
  return joined(shown) + (column.values.size() > most ? " .." : "");
}

void print_columns(const DataFindings& found, Session& session) {
  const auto& columns = found.sets.front().columns;
  if (columns.empty() || columns.size() > most_rows) return;
  std::vector<std::vector<std::string>> numbers, categories;
  for (const ColumnFindings& column : columns) {
    const std::string name = escaped_name(column.name),
                      missing = column.missing > 0 ? measured(100 * column.missing) + " %" : "";
    if (column.distinct > 0) {
      numbers.push_back({name, measured(column.mean), measured(column.deviation), measured(column.least),
                         measured(column.most), missing});
    } else {
      categories.push_back({name, std::to_string(column.values.size()), missing, most_frequent(column)});
    }
  }
  if (!numbers.empty())
    session.out
        << "\n"
        << grid({{"column"}, {"mean", true}, {"std", true}, {"min", true}, {"max", true}, {"missing", true}},
                numbers, session.out_style);
  if (!categories.empty())
    session.out << "\n"
                << grid({{"column"}, {"values", true}, {"missing", true}, {"most frequent"}}, categories,
                        session.out_style);
}

// Every token in brackets of its own; those that are trained on stand out.
void print_tokens(const DataFindings& found, Session& session) {
  const Style& style = session.out_style;
  for (const ShownTokens& example : found.tokens) {
    session.out << "\n"
                << style.bold(example.place) << style.dim("   [token]  >[token that is trained on]") << "\n";
    for (std::size_t i = 0; i < example.ids.size(); ++i) {
      const std::string text = "[" + escaped_name(example.texts[i]) + "]";
      session.out << (example.trained[i] ? style.green(">" + text) : style.dim(text));
      if (example.texts[i].ends_with('\n')) session.out << "\n";
    }
    session.out << "\n";
  }
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
    session.out << style.dim("notes") << "\n";
    print_list(found.notes, session.out);
  }
  print_sets(found, session);
  print_classes(found, session);
  print_columns(found, session);
  print_tokens(found, session);
}

void write_page(const std::string& file, const std::string& recipe, const std::string& run,
                nlohmann::ordered_json data) {
  data["recipe"] = recipe;
  data["run"] = run;
  data["version"] = version_text;
  write_atomically(file, html_page("Data of " + run, "data", data));
}

int run(const Arguments& arguments, Session& session) {
  std::int64_t most = 100'000, tokens = 0;
  try {
    tokens = whole_option(arguments, "tokens", 1).value_or(tokens);
    most = whole_option(arguments, "examples", 1).value_or(most);
  } catch (const BadNumber& problem) {
    return refuse({problem.message, {}, "runner data --help"}, session);
  }
  if (arguments.has("output")) require_no_other_content(arguments.get("output"));
  Diagnostics problems;
  const std::string recipe = arguments.get("RECIPE");
  const auto resolved =
      resolve_recipe({recipe, session.environment, arguments.all("OVERRIDE")}, session.registry, problems);
  session.err << render(problems, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  const Recipe decoded = decode_table<Recipe>(*resolved, session.registry);
  const DataFindings found = examine_data(decoded, most, tokens);
  if (arguments.has("output")) write_page(arguments.get("output"), recipe, decoded.run.name, to_json(found));
  if (arguments.has("json") && arguments.has("tokens")) {
    for (const ShownTokens& example : found.tokens) session.out << to_json(example).dump() << "\n";
    for (const std::string& problem : found.problems) session.err << problem << "\n";
  } else if (arguments.has("json")) {
    session.out << dumped(to_json(found));
  } else {
    print(found, session);
    if (arguments.has("output")) session.out << "\n" << arguments.get("output") << "\n";
  }
  return found.failed || (arguments.has("strict") && !found.problems.empty()) ? Exit::failed : Exit::done;
}

}  // namespace

Command data_command() {
  return {
      .name = "data",
      .summary = "Examine the data before training: problems, classes, columns, examples.",
      .arguments = {{"RECIPE", "The recipe, a TOML file.", Argument::Count::one, Word::recipe},
                    {"OVERRIDE", "Changes to it, as for `runner run`.", Argument::Count::any,
                     Word::override_}},
      .options = {{.name = "output",
                   .doc = "Write an HTML page too, with examples after the transforms.",
                   .value = "FILE",
                   .letter = 'o',
                   .word = Word::file},
                  {.name = "examples",
                   .doc = "Examine at most N examples of each set, evenly spaced; default: 100000.",
                   .value = "N"},
                  {.name = "tokens",
                   .doc = "Show the first N training examples token by token, and which tokens are trained "
                          "on; with --json "
                          "one object a line: place, ids, trained, text.",
                   .value = "N"},
                  {.name = "strict", .doc = "Exit with code 1 if there is a problem."},
                  {.name = "json", .doc = "The same as JSON, for programs."}},
      .examples = {{"runner data recipes/cifar10.toml -o data.html", "with a page to look at"},
                   {"runner data recipes/adult_tabular.toml --strict", "in a script, before training"}},
      .run = &run,
      .details =
          "Two examples are duplicates if the model would get the same numbers for both.\n"
          "Exit code 0: done; 1: failed, problems with --strict, or conversations that would be trained on\n"
          "wrongly; 2: the recipe has mistakes."};
}

}  // namespace runner::cli
