#include <nlohmann/json.hpp>
#include <ostream>

#include "runner/cli/commands.hpp"
#include "runner/cli/machine.hpp"
#include "runner/describe/json.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

int env(const Arguments& arguments, Session& session) {
  const std::vector<Fact> facts = machine_facts(session.environment);
  if (arguments.has("json")) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const Fact& fact : facts) json[fact.key] = fact.value;
    session.out << dumped(json);
    return Exit::done;
  }
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Fact& fact : facts) rows.emplace_back(session.out_style.cyan(fact.key), fact.value);
  session.out << two_columns(rows, "");
  return Exit::done;
}

}  // namespace

Command env_command() {
  return {.name = "env",
          .summary = "Show versions, processor, memory, devices and libraries, to paste into a bug report.",
          .options = {{.name = "json", .doc = "The same as JSON, for programs."}},
          .examples = {{"runner env", "for people"}, {"runner env --json", "for programs"}},
          .run = &env,
          .loads_plugins = false};
}

}  // namespace runner::cli
