#include <nlohmann/json.hpp>
#include <ostream>

#include "runner/cli/commands.hpp"
#include "runner/describe/flatten.hpp"
#include "runner/describe/json.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/toml/write.hpp"

namespace runner::cli {

namespace {

std::optional<Value> resolve(const std::string& recipe, const std::vector<std::string>& overrides,
                             Session& session) {
  Diagnostics found;
  auto resolved = resolve_recipe({recipe, session.environment, overrides}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  return resolved;
}

int show_difference(const Value& value, const Value& other, bool as_json, Session& session) {
  const std::vector<Difference> differences = compare(value, other);
  if (as_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    const auto shown = [](const Value* held) {
      if (!held) return nlohmann::ordered_json();
      return held->secret ? nlohmann::ordered_json("(secret)") : to_json(*held);
    };
    for (const auto& [key, here, there] : differences)
      list.push_back({{"key", key}, {"this", shown(here)}, {"other", shown(there)}});
    session.out << dumped(list);
    return Exit::done;
  }
  const Style& style = session.out_style;
  for (const auto& [key, here, there] : differences) {
    const auto line = [&](const Value& held) {
      return key + " = " + (held.secret ? "(secret)" : to_toml(held));
    };
    if (here)
      session.out << style.red("- " + line(*here)) << style.dim("  # " + to_string(here->origin)) << "\n";
    if (there)
      session.out << style.green("+ " + line(*there)) << style.dim("  # " + to_string(there->origin)) << "\n";
  }
  if (differences.empty()) session.out << "no difference\n";
  return Exit::done;
}

int show(const Arguments& arguments, Session& session) {
  const auto& overrides = arguments.all("OVERRIDE");
  const auto resolved = resolve(arguments.get("RECIPE"), overrides, session);
  const bool compares = arguments.has("diff"), as_json = arguments.has("json");
  const auto other = compares ? resolve(arguments.get("diff"), {}, session) : std::nullopt;
  if (!resolved || (compares && !other)) return Exit::bad_input;
  if (compares) return show_difference(*resolved, *other, as_json, session);
  session.out << (as_json ? dumped(to_json(*resolved))
                          : write_toml(*resolved, {.origins = arguments.has("origins")}));
  return Exit::done;
}

}  // namespace

Command show_command() {
  return {
      .name = "show",
      .summary = "Print a recipe with all defaults filled in; the output is a recipe too.",
      .arguments = {{"RECIPE", "The recipe, a TOML file.", Argument::Count::one, Word::recipe},
                    {"OVERRIDE", "Changes to it, as for `runner run`.", Argument::Count::any,
                     Word::override_}},
      .options = {{.name = "origins", .doc = "Show where each value comes from."},
                  {.name = "diff",
                   .doc = "Show only what differs from another recipe: - in RECIPE, + in OTHER.",
                   .value = "OTHER",
                   .word = Word::recipe},
                  {.name = "json", .doc = "The same as JSON, for programs."}},
      .examples = {{"runner show recipes/cifar10.toml", "all settings, defaults included"},
                   {"runner show recipes/cifar10.toml optimizer.lr=1 --origins", "and where each comes from"},
                   {"runner show recipes/cifar10.toml --diff recipes/shapes.toml", "how two recipes differ"}},
      .run = &show};
}

}  // namespace runner::cli
