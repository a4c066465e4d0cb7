#include <filesystem>
#include <fstream>
#include <ostream>
#include <stdexcept>

#include "runner/cli/commands.hpp"
#include "runner/cli/help.hpp"
#include "runner/cli/parse.hpp"
#include "runner/describe/markdown.hpp"
#include "runner/resolve/resolve.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

// Escapes what roff would take for a request, an escape or a hyphen.
std::string plain(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '~': out += "\\(ti"; break;
      case '^': out += "\\(ha"; break;
      case '`': out += "\\(ga"; break;
      default: out += c;
    }
    at_start = c == '\n';
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }

std::string paragraph(std::string_view text) { return ".PP\n" + plain(text) + "\n"; }

// A term and what it means, indented.
std::string entry(std::string_view term, std::string_view text) {
  return ".TP\n" + bold(term) + "\n" + plain(text) + "\n";
}

std::string section(std::string_view title) { return ".SH " + std::string(title) + "\n"; }

// Lines that are kept as they are.
std::string verbatim(std::string_view text) { return ".PP\n.nf\n" + plain(text) + "\n.fi\n"; }

std::string page_of(const Command& command) {
  std::string out = ".SS " + std::string(command.name) + "\n" + plain(command.summary) + "\n" +
                    verbatim("    " + usage(command));
  for (const Argument& argument : command.arguments) out += entry(argument.name, argument.doc);
  for (const Option& option : command.options) out += entry(spelling(option), option.doc);
  if (!command.details.empty()) out += paragraph(command.details);
  for (const Example& example : command.examples) {
    out += ".PP\nExample, " + plain(example.doc) + ":\n" + verbatim("    " + std::string(example.command));
  }
  return out;
}

// runner(1), from the declarations of all commands.
std::string man_page() {
  std::string out = ".\\\" Written by `runner docs`: do not edit.\n.TH RUNNER 1 \"\" \"runner " RUNNER_VERSION
                    "\" \"User Commands\"\n.nh\n.ad l\n";
  out += section("NAME") + "runner \\- train models from declarative recipes, on LibTorch\n";
  out += section("SYNOPSIS") + bold("runner") + " \\fIRECIPE\\fR [\\fIOVERRIDE\\fR..]\n.br\n" +
         bold("runner") + " \\fICOMMAND\\fR ..\n";
  out += section("DESCRIPTION");
  out +=
      plain(
          "A recipe is a TOML file that names registered components: a model, a dataset, an optimizer and so "
          "on. runner checks the whole recipe, builds the components and trains. Every run leaves a folder "
          "with its recipe, metrics, checkpoints, weights and a report.") +
      "\n";
  out += section("OVERRIDES") + "An override changes a recipe from the command line.\n";
  for (const auto& [form, meaning] : override_forms()) out += entry(form, meaning);
  out += section("COMMANDS");
  out += "Every command takes these options:\n";
  for (const Option& option : common_options()) out += entry(spelling(option), option.doc);
  out += entry("-h, --help", "Show the help of the command.");
  for (const Command& command : commands()) {
    if (!command.hidden) out += page_of(command);
  }
  out += section("EXIT STATUS") + entry("0", "Done.") + entry("1", "The run or the command failed.") +
         entry("2", "The recipe or the command line has mistakes.") +
         entry("128 + n", "Stopped by signal n, after saving.");
  out += section("ENVIRONMENT") +
         entry("RUNNER_PLUGIN_PATH", "Plugins and folders of plugins that you trust, separated by colons.") +
         entry("RUNNER_<SECTION>__<KEY>",
               "Sets a key of the recipe: RUNNER_OPTIMIZER__LR=0.01. Overrides on the command line win.") +
         entry("XDG_CACHE_HOME", "Where datasets are downloaded to; default: ~/.cache.") +
         entry("NO_COLOR", "Print no colours.");
  out += section("FILES") +
         entry("runs/<name>/<time>/",
               "The folder of a run: recipe.toml, metrics.jsonl, log.txt, checkpoints/, model.safetensors, "
               "result.json, report.html.");
  return out;
}

void write_page(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + file.string());
}

int docs(const Arguments& arguments, Session& session) {
  const fs::path folder = arguments.has("out") ? arguments.get("out") : "docs";
  std::error_code error;
  fs::create_directories(folder / "components", error);
  if (error)
    throw std::runtime_error("cannot create " + (folder / "components").string() + ": " + error.message());
  for (const KindInfo* kind : session.registry.kinds()) {
    write_page(folder / "components" / (std::string(kind->name) + ".md"),
               kind_page(*kind, recipe_schema(), session.registry));
  }
  write_page(folder / "recipe-reference.md", recipe_page(recipe_schema(), session.registry));
  write_page(folder / "runner.1", man_page());
  return Exit::done;
}

}  // namespace

Command docs_command() {
  return {
      .name = "docs",
      .summary = "Write the reference pages of all components and sections, and the man page.",
      .options =
          {{.name = "out", .doc = "Output folder; default: docs.", .value = "DIR", .word = Word::file}},
      .examples = {{"runner docs", "updates docs/components/, docs/recipe-reference.md and docs/runner.1"}},
      .run = &docs,
      .hidden = true};
}

}  // namespace runner::cli
