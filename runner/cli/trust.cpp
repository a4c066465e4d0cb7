#include <algorithm>
#include <ostream>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/problem.hpp"
#include "runner/plugins/trusted.hpp"

namespace runner::cli {

namespace {

int trust(const Arguments& arguments, Session& session) {
  Trusted trusted(session.environment);
  const std::string kind = arguments.get("KIND"), what = arguments.get("WHAT");
  if (kind.empty()) {
    for (const std::string& line : trusted.lines()) session.out << shown_message(line) << "\n";
    if (trusted.lines().empty()) session.out << "nothing is trusted yet\n";
    return Exit::done;
  }
  const std::vector<std::string>& kinds = Trusted::kinds();
  if (kind == "plugin")
    return refuse({"plugins are trusted with their checksum", {"runner plugin trust " + what}}, session);
  if (std::ranges::find(kinds, kind) == kinds.end()) {
    Problem problem{"nothing is trusted as " + in_quotes(kind) + "; use " + joined(kinds)};
    if (const auto hint = did_you_mean(kind, kinds)) problem.hints.push_back(*hint);
    problem.see = "runner trust --help";
    return refuse(problem, session);
  }
  if (what.empty())
    return refuse({"which " + kind + " do you trust?", {"runner trust " + kind + " .."}}, session);
  trusted.add(kind, what);
  session.out << "trusts the " << kind << " " << escaped_name(what) << " (" << trusted.path().string()
              << ")\n";
  return Exit::done;
}

}  // namespace

Command trust_command() {
  return {
      .name = "trust",
      .summary = "Say once what recipes and run folders of others may use.",
      .arguments = {{"KIND", "server, file, variable or path; without it, lists what is trusted.",
                     Argument::Count::optional},
                    {"WHAT", "The address of the server, the file, the name of the variable, or the path.",
                     Argument::Count::optional, Word::file}},
      .examples = {{"runner trust", "lists what is trusted"},
                   {"runner trust server https://mlflow.example.org",
                    "recipes that name it may send credentials there"},
                   {"runner trust variable DATA", "recipes may send ${env:DATA} to servers"},
                   {"runner trust path /scratch/me", "links in run folders may lead there"}},
      .run = &trust,
      .details =
          "A server gets credentials if you named it yourself: here, on the command line, or in the "
          "environment.\nA file is one that a recipe may name as a credential. Plugins: runner plugin "
          "trust FILE.\nThe list is the file runner/trusted in XDG_CONFIG_HOME, or in ~/.config; lines "
          "can be removed there.",
      .loads_plugins = false};
}

}  // namespace runner::cli
